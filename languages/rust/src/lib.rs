//! Lets a Rust program take part in toll's runs: it speaks protocol 1 (docs/protocol.md).

mod resources;
pub mod units;

use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::ops::RangeInclusive;
use std::time::Instant;

/// One input of a workload. A default of "cpus" is the number of usable CPUs.
pub struct Parameter {
    pub name: &'static str,
    pub default: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
    /// Why the default, which may be a word, is the only value here; it is not among the arguments then. Else "".
    pub only: &'static str,
}

/// The parameters' values by name.
pub type Arguments = BTreeMap<&'static str, u64>;

/// The value of one of the contender's parameters; a usage error where it lies outside of the range.
pub fn number(arguments: &Arguments, name: &str, range: RangeInclusive<u64>) -> Result<u64, Error> {
    let value = arguments[name];
    if range.contains(&value) {
        return Ok(value);
    }
    Err(Error::usage(format!("{name} must be {} to {}, got {value}", range.start(), range.end())))
}

/// The parameter of programs whose tasks run in a pool.
pub const THREADS: Parameter = Parameter {
    name: "threads",
    default: "cpus",
    unit: "threads",
    meaning: "operating-system threads that run the tasks",
    only: "",
};

/// The value of the parameter `threads`; a usage error where it is not 1 to 1024.
pub fn threads(arguments: &Arguments) -> Result<usize, Error> {
    number(arguments, THREADS.name, 1..=1024).map(|threads| threads as usize)
}

/// A crate's version as `lock`, the text of Cargo.lock, has it; "" where it has none.
pub fn locked_version(lock: &'static str, name: &str) -> &'static str {
    let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{name}\"\n")));
    entry.and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next()).unwrap_or("")
}

/// One answer to a workload.
pub struct Contender {
    pub workload: &'static str,
    pub name: &'static str,
    pub library: &'static str,
    pub library_version: &'static str,
    pub unit: &'static str,
    pub per: &'static str,
    pub parameters: &'static [Parameter],
    /// What is not timed: pools, schedulers.
    pub set_up: fn(&Arguments) -> Result<Box<dyn State>, Error>,
}

/// A contender that is ready to run.
pub trait State {
    /// One timed iteration; returns its answer.
    fn run(&mut self) -> u64;
    /// The right answer of one iteration.
    fn expected(&self) -> u64;
    /// What `Contender::per` counts, for each iteration.
    fn units(&self) -> u64;
    /// What it stands on, as observed.
    fn footing(&self) -> Value;
    /// What its units told in a pass of their own, which goes into the footing.
    fn counted(&self) -> Result<Map<String, Value>, Error> {
        Ok(Map::new())
    }
    /// More numbers about the batch just run, as suite.toml declares them.
    fn details(&self) -> BTreeMap<&'static str, f64> {
        BTreeMap::new()
    }
}

/// An answer of protocol 1 instead of a result.
#[derive(Debug)]
pub struct Error {
    pub kind: &'static str,
    pub message: String,
}

impl Error {
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Error { kind, message: message.into() }
    }

    /// The system has no threads left for this runtime.
    pub fn no_threads(runtime: &str, error: impl std::fmt::Display) -> Self {
        Error::new("resource", format!("{runtime} cannot start its threads: {error}"))
    }

    fn usage(message: impl Into<String>) -> Self {
        Error::new("usage", message)
    }
}

const MOST_ITERATIONS: u64 = 1 << 53;
const PAGE_BYTES: u64 = 4096;

/// Runs one command line; the result is the process's exit code.
pub fn main(contenders: &[Contender]) -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let code = match words.first().map(String::as_str) {
        Some("describe") => {
            write(&description(contenders));
            0
        }
        Some("serve") => match serve(contenders, &words[1..]) {
            Ok(()) => 0,
            Err(error) => {
                write(&json!({"type": "error", "kind": error.kind, "message": error.message}));
                1
            }
        },
        _ => match show(contenders, &words) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("{}", error.message);
                2
            }
        },
    };
    std::process::ExitCode::from(code)
}

fn description(contenders: &[Contender]) -> Value {
    let offered: Vec<Value> = contenders
        .iter()
        .map(|c| {
            let parameters: Vec<Value> = c
                .parameters
                .iter()
                .map(|p| json!({"name": p.name, "default": p.default, "unit": p.unit, "meaning": p.meaning}))
                .collect();
            json!({"workload": c.workload, "contender": c.name, "library": c.library,
                   "library_version": c.library_version, "kind": "batch", "unit": c.unit, "per": c.per,
                   "parameters": parameters})
        })
        .collect();
    json!({"type": "description", "protocol": 1, "language": "Rust", "compiler": env!("TOLL_RUSTC"),
           "contenders": offered})
}

/// One launch: the contender's state, made anew for each batch that brings a layout.
struct Launch<'a> {
    contender: &'a Contender,
    arguments: Arguments,
    state: Option<Box<dyn State>>,
    /// Shifts what the next state allocates.
    padding: Vec<u8>,
}

impl Launch<'_> {
    fn remake(&mut self, layout: u64) -> Result<(), Error> {
        self.state = None;
        self.padding = vec![0; (16 + 16 * (layout % (PAGE_BYTES / 16))) as usize];
        self.state = Some((self.contender.set_up)(&self.arguments)?);
        Ok(())
    }

    fn footing(&self) -> Result<Value, Error> {
        let Some(state) = &self.state else { return Ok(json!({})) };
        let mut footing = state.footing();
        for (name, number) in state.counted()? {
            footing[name] = number;
        }
        Ok(footing)
    }
}

fn launch<'a>(contenders: &'a [Contender], workload: &str, name: &str, words: &[String]) -> Result<Launch<'a>, Error> {
    let contender = contenders
        .iter()
        .find(|c| c.workload == workload && c.name == name)
        .ok_or_else(|| Error::usage(format!("no contender {workload} {name} in this program")))?;
    let arguments = parse(contender.parameters, words)?;
    let state = Some((contender.set_up)(&arguments)?);
    Ok(Launch { contender, arguments, state, padding: Vec::new() })
}

fn parse(parameters: &'static [Parameter], words: &[String]) -> Result<Arguments, Error> {
    let mut texts: BTreeMap<&'static str, String> =
        parameters.iter().map(|p| (p.name, p.default.to_string())).collect();
    for word in words {
        let slot = word.split_once('=').and_then(|(name, value)| texts.get_mut(name).map(|slot| (slot, value)));
        let (slot, value) = slot
            .ok_or_else(|| Error::usage(format!("{word:?} is not name=value with a parameter of this contender")))?;
        *slot = value.to_string();
    }
    for p in parameters.iter().filter(|p| !p.only.is_empty()) {
        let text = texts.remove(p.name).unwrap_or_default();
        if text != p.default {
            let (name, only, default) = (p.name, p.only, p.default);
            return Err(Error::new("unsupported", format!("{name}={text}: {only}; ask for {name}={default}")));
        }
    }
    texts
        .into_iter()
        .map(|(name, text)| {
            let number = if text == "cpus" {
                std::thread::available_parallelism().map(|n| n.get() as u64).ok()
            } else {
                text.parse().ok()
            };
            number
                .map(|number| (name, number))
                .ok_or_else(|| Error::usage(format!("{name}={text} is not a whole number")))
        })
        .collect()
}

fn serve(contenders: &[Contender], words: &[String]) -> Result<(), Error> {
    let [workload, name, rest @ ..] = words else {
        return Err(Error::usage("serve needs WORKLOAD CONTENDER, then name=value ..."));
    };
    let process_ns = resources::now().cpu_ns;
    let started = Instant::now();
    let mut launch = launch(contenders, workload, name, rest)?;
    let setup_ns = started.elapsed().as_nanos() as u64;
    let mut footing = launch.footing()?;
    footing["malloc"] = json!(resources::malloc_provider());
    write(&json!({"type": "ready", "protocol": 1, "setup_ns": setup_ns, "process_ns": process_ns,
                  "clock": resources::clock(), "footing": footing}));
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| Error::usage(format!("cannot read a request: {error}")))?;
        let reply = answer(&mut launch, &line)?;
        write(&reply);
        if reply["type"] == "stopped" {
            break;
        }
    }
    Ok(())
}

fn answer(launch: &mut Launch, line: &str) -> Result<Value, Error> {
    let request: Map<String, Value> = serde_json::from_str(line)
        .map_err(|error| Error::usage(format!("a request that is not one of protocol 1: {error}")))?;
    match request.get("type").and_then(Value::as_str) {
        Some("batch") => {
            let iterations = request
                .get("iterations")
                .and_then(Value::as_u64)
                .filter(|count| (1..=MOST_ITERATIONS).contains(count))
                .ok_or_else(|| Error::usage("batch needs iterations between 1 and 2^53"))?;
            if let Some(layout) = request.get("layout") {
                let seed = layout.as_u64().ok_or_else(|| Error::usage("layout must be a 64-bit number"))?;
                launch.remake(seed)?;
            }
            batch(launch, iterations)
        }
        Some("allocations") => {
            Err(Error::new("unsupported", "Rust programs are not linked with the allocation counter"))
        }
        Some("samples") => Err(Error::usage("this contender is timed in batches: ask for batch")),
        Some("stop") => Ok(json!({"type": "stopped"})),
        other => Err(Error::usage(format!("unknown request type {other:?}"))),
    }
}

fn batch(launch: &mut Launch, iterations: u64) -> Result<Value, Error> {
    let state = launch.state.as_mut().ok_or_else(|| Error::new("internal", "no state"))?;
    let mut sum = 0u64;
    let before = resources::now();
    let started = Instant::now();
    for _ in 0..iterations {
        sum = sum.wrapping_add(state.run());
    }
    let wall_ns = started.elapsed().as_nanos() as u64;
    let after = resources::now();
    let expected = iterations.wrapping_mul(state.expected());
    if sum != expected {
        return Err(Error::new("wrong_answer", format!("the sum is {sum} instead of {expected}")));
    }
    let mut reply = json!({
        "type": "batch", "iterations": iterations, "units": iterations * state.units(), "wall_ns": wall_ns,
        "cpu_ns": after.cpu_ns - before.cpu_ns,
        "voluntary_switches": after.voluntary - before.voluntary,
        "involuntary_switches": after.involuntary - before.involuntary,
        "minor_faults": after.minor_faults - before.minor_faults,
        "major_faults": after.major_faults - before.major_faults,
        "peak_bytes": resources::peak_bytes(), "checksum": sum.to_string(),
        "counters": {"reason": "Rust programs count no hardware events"},
    });
    let details = state.details();
    if !details.is_empty() {
        reply["details"] = json!(details);
    }
    Ok(reply)
}

fn write(message: &Value) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{message}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1); // nobody reads: there is no one to answer
    }
}

/// By hand: every contender, or the one named, as a readable table.
fn show(contenders: &[Contender], words: &[String]) -> Result<(), Error> {
    if words.first().map_or(false, |word| ["--help", "-h", "help"].contains(&word.as_str())) {
        println!("PROGRAM [CONTENDER] [name=value ...] | describe | serve WORKLOAD CONTENDER [name=value ...]");
        return Ok(());
    }
    let named = words.first().filter(|word| !word.contains('='));
    let rest = &words[usize::from(named.is_some())..];
    let chosen: Vec<&Contender> = contenders.iter().filter(|c| named.map_or(true, |name| c.name == name)).collect();
    if chosen.is_empty() {
        return Err(Error::usage(format!("no contender {} in this program", named.map_or("", |name| name))));
    }
    for contender in chosen {
        let mut launch = launch(contenders, contender.workload, contender.name, rest)?;
        for what in ["cold", "warm", "warm"] {
            let result = batch(&mut launch, 1)?;
            let per_unit = |field: &str| {
                result[field].as_f64().unwrap_or(f64::NAN) / result["units"].as_f64().unwrap_or(f64::NAN)
            };
            println!(
                "{:26} {what} {:10.1} {}/{}  CPU time {:10.1}  {}",
                contender.name, per_unit("wall_ns"), contender.unit, contender.per, per_unit("cpu_ns"),
                launch.footing()?
            );
        }
    }
    Ok(())
}
