// Finds libcustomlabels, and reports what was tried if it is not there.
use std::path::{Path, PathBuf};
use std::{env, process};

fn by_pkg_config() -> Option<PathBuf> {
    let output = process::Command::new("pkg-config").args(["--variable=libdir", "customlabels"]).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    if output.status.success() && !folder.trim().is_empty() {
        Some(PathBuf::from(folder.trim()))
    } else {
        None
    }
}

fn main() {
    println!("cargo:rerun-if-env-changed=CUSTOMLABELS_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let is_static = env::var_os("CARGO_FEATURE_STATIC").is_some();
    let file = if is_static { "libcustomlabels_static.a" } else { "libcustomlabels.so" };
    // An installation has the crate in PREFIX/share/customlabels/rust.
    let prefix = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../../..");
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap();
    let folders: Vec<PathBuf> = match env::var_os("CUSTOMLABELS_LIB_DIR") {
        Some(folder) => vec![folder.into()],
        None => ["lib".into(), format!("lib/{architecture}-linux-gnu"), "lib64".into()]
            .into_iter()
            .map(|folder| prefix.join(folder))
            .chain(by_pkg_config())
            .collect(),
    };
    let found = folders.iter().find(|folder| folder.join(file).exists()).unwrap_or_else(|| {
        eprintln!("{file} is in none of these folders:");
        folders.iter().for_each(|folder| eprintln!("  {}", folder.display()));
        eprintln!("Install the package libcustomlabels-dev, or name the folder: CUSTOMLABELS_LIB_DIR=/path/to/lib");
        process::exit(1)
    });
    println!("cargo:rustc-link-search=native={}", found.display());
    println!("cargo:rustc-link-lib={}", if is_static { "static=customlabels_static" } else { "dylib=customlabels" });
}
