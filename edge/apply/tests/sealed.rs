//! What was proved, and what a node may hold, cannot be made in another way: what tries it does not
//! compile, and its twin, which goes the way that there is, does.

#[path = "sealed/twin.rs"]
mod twin;

#[test]
fn what_nobody_proved_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/sealed/refused/*.rs");
}

#[test]
fn its_twin_compiles_and_is_admitted() {
    twin::main();
}
