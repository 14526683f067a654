from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from refimpl.cli.main import main
from refimpl.conformance.case_file import read_case
from refimpl.conformance.fuzz import campaign
from refimpl.conformance.fuzz.relations import RELATIONS, instances
from refimpl.conformance.subject import open_subject
from tests.conformance.folder import DUMMY

WRONG = "py:tests.conformance.fuzz.wrong"


def fuzz(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> Any:
    assert main(["fuzz", "--json", *words]) == code
    return json.loads(capsys.readouterr().out)


def test_small_scopes_find_the_smallest_placement_that_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--subject",
        f"{WRONG}:LastDevices",
        "--only",
        "small",
        "--examples",
        "40",
        "--write",
        str(tmp_path),
    ]
    (found,) = fuzz(capsys, 1, *words)["findings"]
    (step,) = found["trace"]["steps"]

    assert found["disagreement"]["kind"] == "placement.even: ok, not ok"
    assert (len(step["devices"]), step["hidden"]) == (2, 2)
    assert found["verified"] == 2
    case = read_case(Path(found["file"]), tmp_path)
    assert case.provenance.source == "none"
    assert case.steps == (step,)


def test_drawn_traces_find_a_fault_and_make_it_small(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--subject", f"{WRONG}:SwapsFields", "--only", "traces", "--examples", "150", "--seed", "3"]
    found = {one["disagreement"]["kind"]: one for one in fuzz(capsys, 1, *words)["findings"]}
    steps = found["observe state: ok, not ok"]["trace"]["steps"]

    assert [step.get("do") or step["observe"] for step in steps] == ["module.build", "state"]
    assert str(steps[0]["args"]["tree"]).count("'float'") <= 2


def test_a_subject_that_raises_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    made = fuzz(capsys, 2, "--subject", f"{WRONG}:Raises", "--only", "small", "--examples", "20")
    (found,) = made["findings"]

    assert found["disagreement"]["kind"] == "adapter fault"
    assert {"do": "module.freeze", "on": "m"} in found["trace"]["steps"] or len(found["trace"]["steps"]) == 1


def test_a_crashing_process_is_killed_at_most_so_often(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "verify", lambda *_: 0)
    with (
        open_subject("refimpl") as reference,
        open_subject(f"cmd:{sys.executable} {DUMMY} crasher") as subject,
    ):
        run = campaign.Campaign("x", reference, subject, campaign.Budget(None, 3), 0)
        subject.greeting = reference.greeting
        run.small(1.0)
        before = run.comparison.kills
        (found,) = run.settle(None)

    assert found.disagreement.kind == "crash"
    assert run.comparison.kills - before <= campaign.MAX_KILLS + 1


def test_a_seed_draws_the_same_traces_again(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--subject", f"{WRONG}:SwapsFields", "--only", "bytes", "--only", "traces", "--examples", "60"]
    first, again = (fuzz(capsys, 1, *words, "--seed", "5") for _ in range(2))

    assert first["operations"] == again["operations"]
    assert first["findings"] == again["findings"]


def test_every_relation_holds_of_the_reference() -> None:
    seen = set()
    with open_subject("refimpl") as subject:
        for (relation, trace), _ in zip(instances(2), range(20 * len(RELATIONS)), strict=False):
            seen.add(relation.name)
            assert relation.judge(subject.case("x", trace.steps, 1)) is None

    assert len(seen) == len(RELATIONS)


def test_a_broken_relation_is_found_without_an_oracle(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--subject", f"{WRONG}:LastDevices", "--only", "relations", "--examples", "200"]
    kinds = [found["disagreement"]["kind"] for found in fuzz(capsys, 1, *words)["findings"]]

    assert kinds == ["relation: even is new of its stages"]


def test_of_the_reference_alone_relations_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--examples", "20"]) == 0
    assert capsys.readouterr().out.startswith("20 traces, ")


def test_minutes_bound_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz(capsys, 0, "--minutes", "0.005", "--only", "small", "--only", "traces")["traces"] > 0


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    assert main(["fuzz", "--write", str(tmp_path / "file" / "x"), "--examples", "5"]) == 2
    said = capsys.readouterr()
    assert f"cannot write cases below '{tmp_path / 'file' / 'x'}'" in said.err
    assert said.out == ""


def test_an_interrupt_tells_what_was_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign.Campaign, "settle", interrupt)
    made = fuzz(capsys, 130, "--subject", f"{WRONG}:LastDevices", "--only", "small", "--examples", "40")

    assert made["interrupted"]
    assert [found["verified"] for found in made["findings"]] == [0]


def test_findings_are_printed_with_their_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--subject", f"{WRONG}:LastDevices", "--only", "small", "--examples", "30"]) == 1
    shown = capsys.readouterr().out

    assert "placement.even: ok, not ok" in shown
    assert '  > {"do": "placement.even"' in shown
    assert "came again 2 times in fresh processes" in shown


def test_no_number_is_not_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--minutes", "nan"]) == 4
    assert "give minutes, such as 0.5" in " ".join(capsys.readouterr().err.split())


def test_what_is_drawn_at_random_is_no_smaller_form_of_what_is_not() -> None:
    build = {"do": "module.build", "fixture": "zoo/net", "args": {"device": "d0"}, "as": "m"}
    adapted = [build, {"do": "module.apply_lora", "on": "m", "rank": 1, "alpha": 1}]
    look = {"do": "param.val", "on": "m", "path": "lin.weight.lora.a", "direct": True}
    given = {
        "do": "param.replace",
        "path": "lin.weight.lora.a",
        "how": "from_tensor",
        "shape": [2, 1],
        "id": 9,
        "on": "m",
    }
    with open_subject("refimpl") as reference, open_subject("refimpl") as subject:
        comparison = campaign.Comparison(reference, subject)

        assert not comparison.steady([*adapted, look])
        assert comparison.steady([*adapted, given, look])


def test_a_run_too_short_to_ask_anything_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--minutes", "1e-12", "--only", "relations"]) == 4
    assert "too short" in capsys.readouterr().err
