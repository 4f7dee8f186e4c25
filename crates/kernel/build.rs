//! Compiles the eBPF program if the feature `datapath` is enabled.

fn main() {
    #[cfg(feature = "datapath")]
    datapath::build();
}

#[cfg(feature = "datapath")]
mod datapath {
    use std::path::PathBuf;
    use std::process::Command;

    /// Path of the program's source.
    const SOURCE: &str = "bpf/datapath.bpf.c";

    pub(super) fn build() {
        println!("cargo:rerun-if-changed=bpf");
        let has_clang = Command::new("clang").arg("--version").output().is_ok_and(|output| output.status.success());
        assert!(
            has_clang,
            "the kernel's datapath is compiled with clang, which is not installed; on Debian: apt-get install clang"
        );
        let object = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it")).join("datapath.bpf.o");
        libbpf_cargo::SkeletonBuilder::new()
            .source(SOURCE)
            .obj(&object)
            .clang_args(["-mcpu=v3", "-Wall", "-Werror", "-Ibpf"])
            .build()
            .unwrap_or_else(|error| panic!("clang could not compile {SOURCE}: {error:#}"));
    }
}
