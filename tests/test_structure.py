"""tools/check_structure.py: circles, long functions, large structs and missing units, in small made-up crates."""

from __future__ import annotations

from pathlib import Path

import check_structure
import pytest

ROOT = Path(__file__).parents[1]


def crate(root: Path, **files: str) -> Path:
    """A crate `x`; `a__b` is the file a/b.rs."""
    for name, source in files.items():
        file = root / "crates" / "x" / "src" / f"{name.replace('__', '/')}.rs"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    (root / "crates" / "x" / "Cargo.toml").write_text('[package]\nname = "x"\n')
    return root


def found(root: Path) -> list[str]:
    return [fault.key for fault in check_structure.faults_of(root, [])]


def test_two_modules_that_use_each_other_are_a_circle(tmp_path: Path) -> None:
    crate(
        tmp_path,
        lib="mod a; mod b;",
        a="use crate::b::B;\npub struct A(B);",
        b="pub struct B;\nfn f() { crate::a::A::new(); }",
    )
    (fault,) = check_structure.faults_of(tmp_path, ["x"])
    assert fault.key == "x: crate::a, crate::b"
    assert fault.message.splitlines() == [
        "crates/x: import circle of crate::a, crate::b",
        "    crate::a -> crate::b (a.rs:1 uses crate::b::B)",
        "    crate::b -> crate::a (b.rs:2 uses crate::a::A::new)",
    ]


def test_three_modules_in_a_row_that_closes_are_a_circle(tmp_path: Path) -> None:
    crate(
        tmp_path,
        lib="mod a; mod b; mod c; mod d;",
        a="use super::{b::{self as other}, d::D};\nfn f() { other::go(); }",
        b="use crate::c::*;\npub fn go() -> C { C }",
        c='pub struct C;\nfn f() { println!("{}", crate::a::f()); }',
        d="pub struct D;",
    )
    assert found(tmp_path) == ["x: crate::a, crate::b, crate::c"]


def test_a_parent_and_a_child_that_use_each_other_are_a_circle(tmp_path: Path) -> None:
    crate(
        tmp_path,
        lib="mod parent;",
        parent__mod="mod child;\npub struct Shared;\nfn f() { child::go() }",
        parent__child="use super::Shared;\npub fn go() {}",
    )
    assert found(tmp_path) == ["x: crate::parent, crate::parent::child"]


def test_a_child_that_uses_its_parent_is_no_circle_without_the_way_back(tmp_path: Path) -> None:
    crate(tmp_path, lib="mod child;\npub struct Shared;", child="use super::Shared;\nfn f(_: Shared) {}")
    assert found(tmp_path) == []


@pytest.mark.parametrize("reexport", ["pub use a::A;", "pub(crate) use a::*;", "pub use crate::a::{A as A};"])
def test_a_reexport_is_no_use(tmp_path: Path, reexport: str) -> None:
    """`b` uses `a`, where the name is defined, and `a` uses `b`'s sibling: nothing uses the root."""
    crate(
        tmp_path,
        lib=f"mod a; mod b; mod c;\n{reexport}\npub use c::C;",
        a="pub struct A(crate::C);",
        b="use crate::A;\nfn f(_: A) {}",
        c="pub struct C;",
    )
    assert found(tmp_path) == []


def test_a_circle_through_a_reexport_is_found_where_the_names_are_defined(tmp_path: Path) -> None:
    crate(
        tmp_path,
        lib="mod a; mod b;\npub use a::A;\npub use b::B;",
        a="use crate::B;\npub struct A(B);",
        b="use crate::A;\npub struct B(A);",
    )
    assert found(tmp_path) == ["x: crate::a, crate::b"]


def test_a_parent_whose_code_uses_what_it_reexports_uses_the_child(tmp_path: Path) -> None:
    crate(
        tmp_path,
        lib="mod child;\npub use child::Child;\npub struct Shared;\nfn f(_: Child) {}",
        child="pub struct Child(super::Shared);",
    )
    assert found(tmp_path) == ["x: crate, crate::child"]


def test_what_tests_import_is_no_use(tmp_path: Path) -> None:
    crate(
        tmp_path,
        lib="mod a; mod b;\n#[cfg(test)]\nmod tests;",
        a="pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; fn f(_: B) {} }",
        b="use crate::a::A;\npub struct B(A);",
        tests="use super::a::A;",
    )
    assert found(tmp_path) == []


def test_an_inline_module_belongs_to_its_file(tmp_path: Path) -> None:
    crate(
        tmp_path,
        lib="mod a; mod b;",
        a="pub mod inner { use super::Outer; pub struct Inner(Outer); }\npub struct Outer;\nfn f(_: inner::Inner) {}",
        b="use crate::a::inner::Inner;\nfn f(_: Inner) {}",
    )
    assert found(tmp_path) == []


def test_a_macro_uses_what_it_names(tmp_path: Path) -> None:
    crate(
        tmp_path,
        lib="mod a; mod b;",
        a="macro_rules! make { () => { $crate::b::B } }\npub(crate) use make;\npub struct A;",
        b="use crate::a::A;\npub struct B;",
    )
    assert found(tmp_path) == ["x: crate::a, crate::b"]


def lines(count: int) -> str:
    """The body of a function that has this many lines with `fn` and the closing brace."""
    return "{\n" + "    go();\n" * (count - 2) + "}\n"


def test_a_function_of_more_than_50_lines_is_found(tmp_path: Path) -> None:
    methods = f"impl<T> A<T> {{\nfn long() {lines(51)}\nfn short() {lines(50)}\n}}"
    tests = f"#[test]\nfn long_test() {lines(60)}\n#[cfg(test)]\nmod tests {{\nfn long() {lines(60)}\n}}"
    crate(tmp_path, lib=f"{methods}\n{tests}")
    (fault,) = check_structure.faults_of(tmp_path, [])
    assert (fault.kind, fault.key) == ("functions", "crates/x/src/lib.rs: A::long")
    assert fault.message == "crates/x/src/lib.rs:2: A::long has 51 lines, more than 50"


def test_a_struct_of_more_than_20_fields_is_found(tmp_path: Path) -> None:
    def fields(count: int) -> str:
        return ", ".join(f"/// Documented.\npub f{number}: u8" for number in range(count))

    structs = f"struct Small {{ {fields(20)} }}\nstruct Large {{ {fields(21)} }}"
    crate(tmp_path, lib=f"{structs}\nenum E {{ V {{ {fields(22)} }}, W(u8) }}")
    assert [fault.message.split(": ")[1] for fault in check_structure.faults_of(tmp_path, [])] == [
        "Large has 21 fields, more than 20",
        "E::V has 22 fields, more than 20",
    ]


def test_a_quantity_without_a_unit_in_a_signature_is_found(tmp_path: Path) -> None:
    """By name: `now` and what ends with a unit; a count and a `Time` are none."""
    crate(
        tmp_path,
        lib="trait Queue { fn wake(&mut self, now: u64); fn hold(&mut self, now: Time, packets: u64, rate: Rate); }",
        a="fn f(mut gap_ns: Option<u64>, fits: u64) {}\n#[cfg(test)]\nmod tests { fn g(now: u64) {} }",
    )
    assert [fault.message for fault in check_structure.faults_of(tmp_path, [])] == [
        "crates/x/src/a.rs:1: f takes gap_ns: Option<u64>, a type without a unit",
        "crates/x/src/lib.rs:1: Queue::wake takes now: u64, a type without a unit",
    ]


def test_an_exception_covers_what_it_names_and_is_a_fault_when_it_covers_nothing() -> None:
    faults = [check_structure.Fault("functions", "crates/x/src/lib.rs: f", "f is long")]
    covering = {"crates/x/*": "a table"}
    assert check_structure.uncovered(faults, {}) == ["f is long"]
    assert check_structure.uncovered(faults, {"functions": covering}) == []
    assert check_structure.uncovered(faults, {"structs": covering}) == [
        "f is long",
        'tools/structure-exceptions.toml: [structs] "crates/x/*" has no effect',
    ]
    assert check_structure.uncovered(faults, {"functions": {"crates/x/*": " "}}) == [
        'tools/structure-exceptions.toml: [functions] "crates/x/*" has no reason'
    ]


def test_the_crates_keep_the_rules_but_for_the_exceptions() -> None:
    allowed = check_structure.exceptions(check_structure.EXCEPTIONS)
    assert check_structure.uncovered(check_structure.faults_of(ROOT, []), allowed) == []
