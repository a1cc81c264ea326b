//! The papers' figures, and what is true of them.

mod common;

use common::{set, subject};
use racehound_model::figures::{
    ACCULOCK_1A, ACCULOCK_1B, ACCULOCK_1C, ACCULOCK_1D, ACCULOCK_2A, ACCULOCK_2B, ACCULOCK_3,
    DRFINDER_2, RACEFUZZER_1, RACEFUZZER_2,
};

#[test]
fn racefuzzer_figure_1_has_the_race_on_z_and_not_the_one_on_x() {
    let figure = subject(RACEFUZZER_1);
    assert_eq!(figure.races(), set(["5 7"]));
    assert_eq!(figure.failures(), set(["ERROR1"]));
    assert!(figure.truth.deadlocks.is_empty());
    let (five, seven) = (figure.program.site("5"), figure.program.site("7"));
    assert!(figure.truth.has_race(seven, five));
    let (one, ten) = (figure.program.site("1"), figure.program.site("10"));
    assert!(!figure.truth.has_race(one, ten));
}

#[test]
fn racefuzzer_figure_2_has_the_race_that_is_hard_to_reproduce() {
    let figure = subject(RACEFUZZER_2);
    assert_eq!(figure.races(), set(["8 10"]));
    assert_eq!(figure.failures(), set(["ERROR"]));
    assert!(figure.truth.deadlocks.is_empty());
}

#[test]
fn acculock_figures_1a_to_1c_have_the_race_a_b() {
    for text in [ACCULOCK_1A, ACCULOCK_1B, ACCULOCK_1C] {
        let figure = subject(text);
        assert_eq!(figure.races(), set(["A B"]), "{text}");
        assert!(figure.truth.deadlocks.is_empty());
        assert!(figure.truth.violations.is_empty());
    }
}

#[test]
fn acculock_figure_1d_hands_the_nodes_over_without_a_race() {
    subject(ACCULOCK_1D).assert_clean();
}

#[test]
fn acculock_figure_2_is_one_thread() {
    subject(ACCULOCK_2A).assert_clean();
    subject(ACCULOCK_2B).assert_clean();
}

#[test]
fn acculock_figure_3_has_no_race() {
    subject(ACCULOCK_3).assert_clean();
}

#[test]
fn drfinder_figure_2_has_the_races_on_x_and_y() {
    let figure = subject(DRFINDER_2);
    assert_eq!(figure.races(), set(["m1 m4", "m2 m3"]));
    assert!(figure.truth.deadlocks.is_empty());
}
