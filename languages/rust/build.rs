//! Tells the program which compiler made it.

use std::process::Command;

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(compiler).arg("--version").output();
    let text = version.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_string());
    println!("cargo:rustc-env=TOLL_RUSTC={}", text.unwrap_or_else(|_| "rustc".into()));
    println!("cargo:rerun-if-changed=build.rs");
}
