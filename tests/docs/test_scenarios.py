"""Every script in scenarios/ prints what its .out file says; `python
tests/docs/test_scenarios.py` writes these.
"""

import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import pytest
from support import needs

SCENARIOS = Path(__file__).parents[2] / "scenarios"
DATA = Path(__file__).parents[3] / "shared" / "data"
STOCK = [
    DATA / "gpu_market" / f"{name}.jsonl.gz"
    for name in ("H100_80GB_SXM5", "A100_80GB_PCIe")
]
LOGS = {
    "market_findings.py": STOCK,
    "replay_month.py": STOCK,
    "spot_replayed.py": DATA
    / "spot_traces"
    / "availability"
    / "1-node"
    / "aws-02-15-2023"
    / "us-east-1f_v100_1.json",
    "real_log.py": DATA / "alibaba_genai_2026" / "lora_request_trace.csv",
    "rates_of_a_log.py": DATA / "alibaba_genai_2026" / "lora_request_trace.csv",
    "easy_or_hps.py": DATA / "gavel_philly" / "0e4a51.trace",
    "llm_requests.py": DATA / "azure_llm_2023" / "AzureLLMInferenceTrace_code.csv",
    "workflow_on_gpus.py": DATA
    / "pegasus"
    / "epigenomics-chameleon-hep-1seq-100k-001.json",
    "wait_forecasts.py": DATA / "swf" / "LANL-CM5-1994-4.1-cln.swf.gz",
    "waiting_on_a_log.py": DATA / "swf" / "NASA-iPSC-1993-3.1-cln.swf.gz",
}
NEEDS = {
    "adaptive_threshold.py": "pymoo",
    "gym_environment.py": "gymnasium",
    "train_agent.py": "gymnasium",
    "tune.py": "pymoo",
    "wait_forecasts.py": "sklearn",
}
SCRIPTS = sorted(
    script
    for folder in (".", "textbook", "research", "assignments")
    for script in (SCENARIOS / folder).glob("*.py")
)
QUICK = ("buy_or_rent", "own_policy")  # the others: pytest -m slow
# about 8 s or more: pytest -m long
LONG = (
    "adaptive_fails",
    "adaptive_threshold",
    "breakdowns",
    "deadline_week",
    "fixed_slots",
    "hectic_day",
    "how_many_slots",
    "how_many_zones",
    "market_findings",
    "order_or_place",
    "rates_of_a_log",
    "real_log",
    "replay_month",
    "savings_by_the_hour",
    "spot_replayed",
    "tiles",
    "train_agent",
    "tune",
    "wait_forecasts",
    "waiting_on_a_log",
    "where_triage_loses",
    "workflow_on_gpus",
)


def tier(script):
    return (
        []
        if script in QUICK
        else pytest.mark.long
        if script in LONG
        else pytest.mark.slow
    )


def logs_of(script):
    """The files that a script is run on."""
    result = LOGS.get(script.name, [])
    return result if isinstance(result, list) else [result]


def assert_same_numbers(path, kept):
    """Both CSV files have the same cells, numbers up to rounding."""
    cells, others = (
        [line.split(",") for line in each.read_text(encoding="utf-8").splitlines()]
        for each in (path, kept)
    )
    assert cells[0] == others[0] and len(cells) == len(others)
    for row, other in zip(cells[1:], others[1:]):
        assert list(map(number_of, row)) == pytest.approx(
            list(map(number_of, other)), rel=1e-9, abs=1e-12
        )


def number_of(cell):
    """The number in a cell, or a number for its text."""
    try:
        return float(cell)
    except ValueError:
        return float(zlib.crc32(cell.encode()))


def output(script, folder):
    (Path(folder) / "figures").mkdir()
    command = [
        sys.executable,
        str(script),
        *map(str, logs_of(script)),
    ]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.quick_cases(0)
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            each,
            id=each.stem,
            marks=needs(NEEDS[each.name], tier(each.stem))
            if each.name in NEEDS
            else tier(each.stem),
        )
        for each in SCRIPTS
    ],
)
def test_script_prints_its_out_file(script, tmp_path):
    if not all(log.is_file() for log in logs_of(script)):
        pytest.skip("the log is not here")
    assert output(script, tmp_path) == script.with_suffix(".out").read_text(
        encoding="utf-8"
    )
    for path in (tmp_path / "figures").glob("*.csv"):
        assert_same_numbers(path, SCENARIOS.parent / "figures" / path.name)


def test_the_first_line_states_the_finding_of_a_script():
    for script in SCRIPTS:
        assert script.read_text(encoding="utf-8").startswith('"""'), script


if __name__ == "__main__":
    for each in SCRIPTS:
        with tempfile.TemporaryDirectory() as place:
            each.with_suffix(".out").write_text(output(each, place), encoding="utf-8")
