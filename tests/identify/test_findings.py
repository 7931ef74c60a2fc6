"""Findings by importance, the same note once."""

from dynamis.identify.verdict.findings import by_importance, said_once
from dynamis.model.check.finding import Finding


def test_worst_first_and_causes_before_what_they_lead_to():
    fit, spike, column, note = (
        Finding("warning", "fit", "left over", ""),
        Finding("warning", "monday", "tau1 has spikes", ""),
        Finding("error", "columns", "swapped", ""),
        Finding("note", "columns", "noise", ""),
    )
    assert by_importance([note, fit, spike, column]) == [column, spike, fit, note]


def test_the_same_note_is_said_once_for_all_logs_and_joints():
    late = [Finding("note", f"log {k}", f"velocities come {k}.5 ms late", "try") for k in range(6)]
    (one,) = said_once(late)
    assert one.where == "log 0, log 1, log 2, log 3 and 2 more"
    assert one.what == "velocities come 0.5 ms late; likewise 5 more"
    spikes = [
        Finding("warning", "monday", f"tau{k} has spikes of up to {10.0**k:g} in row {k}", "", (n,))
        for k, n in ((1, "a"), (3, "c"), (5, "e"))
    ]
    (one,) = said_once(spikes)
    assert one.joints == ("a", "c", "e") and one.place == "monday, a and c and e"
    assert one.what == "tau1 has spikes of up to 10 in row 1; likewise tau3, tau5"
    same = [Finding("note", "monday", "at rest", "", (n,)) for n in "ab"]
    assert [f.what for f in said_once(same)] == ["at rest"]


def test_warnings_on_fits_and_different_notes_stay_apart():
    fits = [
        Finding("warning", "fit", f"{k} % is left over", "", (n,))
        for k, n in ((20, "a"), (30, "b"))
    ]
    notes = [Finding("note", "monday", x, "") for x in ("jitter of 2 ms", "gaps of 2 ms")]
    assert said_once([*fits, *notes]) == [*fits, *notes]
