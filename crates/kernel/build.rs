//! Compiles the program of the kernel's datapath, where it is asked for.

fn main() {
    #[cfg(feature = "datapath")]
    datapath::build();
}

#[cfg(feature = "datapath")]
mod datapath {
    use std::path::PathBuf;
    use std::process::Command;

    /// Where the program lies.
    const SOURCE: &str = "bpf/datapath.bpf.c";

    pub(super) fn build() {
        println!("cargo:rerun-if-changed=bpf");
        let has_clang = Command::new("clang").arg("--version").output().is_ok_and(|output| output.status.success());
        assert!(
            has_clang,
            "the kernel's datapath is compiled by clang, which is not there; on Debian: apt-get install clang"
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
