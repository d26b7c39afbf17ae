/* What stands packed in the page (zlib, base64), as text. */
const unpacked = async (id) => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
};

/** Runs the chart library: the page's policy allows an inline script of exactly this text, and no other. */
const startCharts = async () => {
  const script = document.createElement("script");
  script.textContent = await unpacked("charts");
  document.head.append(script); // which runs it
  script.remove();
  if (!window.echarts) throw new Error("the chart library was not allowed to run, or failed");
};

/** Until what is returned is called the page counts as loading: who prints it waits for that, and has all charts.
    A frame whose document is being written is what a load event waits for. */
const keepLoading = () => {
  const frame = document.createElement("iframe");
  frame.hidden = true;
  document.body.append(frame);
  const inside = frame.contentDocument;
  inside?.open();
  return () => { inside?.close(); frame.remove(); };
};

/** The tables stay; what else there would be, and why it is not, is told. */
const withoutCharts = (error) => {
  const told = document.getElementById("no-charts"), old = !("DecompressionStream" in window);
  if (told) {
    told.append(old ? " This browser has no DecompressionStream, which Chrome 85, Firefox 113 and Safari 16.4 have." : ` ${error}.`);
    told.hidden = false;
  }
  throw error;
};
