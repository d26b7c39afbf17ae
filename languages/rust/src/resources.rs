//! What the process has used so far, and the clock.

use serde_json::{json, Value};
use std::time::Instant;

/// Of all threads.
pub struct Resources {
    pub cpu_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

pub fn now() -> Resources {
    // SAFETY: rusage is plain numbers, for which zeros are valid, and getrusage fills it.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut used);
        used
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Resources {
        cpu_ns: ns(used.ru_utime) + ns(used.ru_stime),
        voluntary: used.ru_nvcsw as u64,
        involuntary: used.ru_nivcsw as u64,
        minor_faults: used.ru_minflt as u64,
        major_faults: used.ru_majflt as u64,
    }
}

/// The highest resident set so far, 0 where unknown. Not ru_maxrss, which survives exec: it shows the size of
/// whoever launched the program.
pub fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// The clock as it is found: the median of what two reads in a row are apart, and the smallest step seen.
pub fn clock() -> Value {
    let mut apart: Vec<u64> = (0..1001)
        .map(|_| {
            let first = Instant::now();
            first.elapsed().as_nanos() as u64
        })
        .collect();
    apart.sort_unstable();
    let step = apart.iter().copied().find(|&ns| ns > 0).unwrap_or(1);
    json!({"source": "monotonic (Rust's Instant)", "resolution_ns": step,
           "overhead_ns": apart[apart.len() / 2], "frequency_hz": 1e9})
}

/// What serves malloc in this process, as toll's C++ programs name it: "glibc", or a library's file name.
pub fn malloc_provider() -> String {
    // SAFETY: dlsym and dladdr are given strings that end, and a place for what they find.
    let path = unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let function = libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr());
        if function.is_null() || libc::dladdr(function, &mut found) == 0 || found.dli_fname.is_null() {
            return "unknown".to_string();
        }
        std::ffi::CStr::from_ptr(found.dli_fname).to_string_lossy().into_owned()
    };
    match path.rsplit('/').next() {
        Some("libc.so.6") if cfg!(target_env = "gnu") => "glibc".to_string(),
        name => name.unwrap_or_default().to_string(),
    }
}
