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
};

/** A browser without DecompressionStream keeps the page's tables, and is told what it lacks. */
const withoutCharts = (error) => {
  for (const told of document.querySelectorAll("#no-charts")) told.hidden = false;
  throw error;
};
