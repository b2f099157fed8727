//! Compiles every crate's `*.cu` for the host: one unit a crate, as `scripts/kernels` does for the card.

use std::path::{Path, PathBuf};

fn find(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            find(&path, ending, found);
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
}

fn main() {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("set by cargo"));
    let crates = here.parent().expect("the crates folder");
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .define("JND_HOST_SHIM", None)
        .include(here.join("src"))
        .include(crates.join("jnd-cuda/src"))
        .include(crates.parent().expect("the workspace"))
        // The processor's results, to the bit: no contraction, no reassociation.
        .flag("-ffp-contract=off")
        .flag("-fno-fast-math")
        .flag_if_supported("-Wno-unknown-pragmas")
        .flag_if_supported("-Wno-unused-parameter")
        .opt_level(2)
        .debug(false);
    // The card refuses a misaligned access; here it ends the test (SIGILL).
    if build.is_flag_supported("-fsanitize-undefined-trap-on-error").unwrap_or(false) {
        build.flag("-fsanitize=alignment").flag("-fsanitize-undefined-trap-on-error");
    }
    let mut registry = String::from("#include \"shim.h\"\n");
    let mut names: Vec<_> =
        std::fs::read_dir(crates).expect("the crates folder").flatten().map(|e| e.path()).collect();
    names.sort();
    let (mut declared, mut called) = (String::new(), String::new());
    for path in names {
        let (mut sources, mut headers) = (Vec::new(), Vec::new());
        find(&path.join("src"), "cu", &mut sources);
        find(&path.join("src"), "cuh", &mut headers);
        sources.sort();
        for f in sources.iter().chain(&headers) {
            println!("cargo:rerun-if-changed={}", f.display());
        }
        if path.join("src").is_dir() {
            println!("cargo:rerun-if-changed={}", path.join("src").display());
        }
        if sources.is_empty() {
            continue;
        }
        let name = path.file_name().expect("a folder").to_string_lossy().replace('-', "_");
        let mut unit: String = sources.iter().map(|s| format!("#include \"{}\"\n", s.display())).collect();
        unit.push_str(&format!(
            "extern \"C\" shim::Entry* shim_unit_{name}() {{ return shim::unit_entries; }}\n"
        ));
        let file = out.join(format!("{name}.cpp"));
        std::fs::write(&file, unit).expect("write the unit");
        build.file(&file);
        declared.push_str(&format!("extern \"C\" shim::Entry* shim_unit_{name}();\n"));
        called.push_str(&format!("        shim_unit_{name}(),\n"));
    }
    registry.push_str(&declared);
    registry.push_str(&format!(
        "extern \"C\" shim::Entry* shim_unit(int i) {{\n    shim::Entry* all[] = {{\n{called}        nullptr}};\n    \
         return i >= 0 && i < int(sizeof(all) / sizeof(all[0])) ? all[i] : nullptr;\n}}\n"
    ));
    let file = out.join("registry.cpp");
    std::fs::write(&file, registry).expect("write the registry");
    build.file(&file).file(here.join("src/shim.cpp"));
    for f in ["shim.h", "shim.cpp"] {
        println!("cargo:rerun-if-changed={}", here.join("src").join(f).display());
    }
    build.compile("jnd_shim");
}
