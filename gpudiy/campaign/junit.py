"""The result of a campaign as JUnit XML, which every CI server shows: one test case per record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from gpudiy.logs.chips import name_chip
from gpudiy.logs.conformance import Breach, Conformance
from gpudiy.logs.decision import NoEvidence, decide_sighting
from gpudiy.logs.memory_place import memory_of, name_with_memory
from gpudiy.logs.record import Record

PRINTABLE = dict.fromkeys(range(32), " ") | {9: "\t", 10: "\n", 13: "\r"}  # XML has no other control characters


def junit_text(name: str, records: Sequence[Record], conformances: Mapping[str, Conformance]) -> str:
    """Forbidden outcomes are failures; what failed or is no evidence is an error; tests that cannot run are skipped."""
    findings: dict[tuple[str, str], list[tuple[str, Breach]]] = {}
    for model, conformance in conformances.items():
        for finding in conformance.findings:
            findings.setdefault((finding.test, finding.chip), []).append((model, finding))
    root = ElementTree.Element("testsuites", name=name)
    for device in dict.fromkeys(map(_name_device, records)):
        own = [record for record in records if _name_device(record) == device]
        suite = ElementTree.SubElement(root, "testsuite", name=device)
        for record in own:
            _add_case(suite, record, findings.get((record.test, name_chip(record)), []))
        _set_counts(suite, own)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: ElementTree.Element, record: Record, findings: Sequence[tuple[str, Breach]]) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_name_device(record), name=_clean(record.test), time=f"{record.seconds:.3f}"
    )
    decision = decide_sighting(record)
    if decision.kind is NoEvidence.NOT_RUNNABLE:
        ElementTree.SubElement(case, "skipped", message=_clean(decision.reason))
    elif decision.kind is not None:
        ElementTree.SubElement(case, "error", message=_clean(decision.reason), type=str(decision.kind))
    for model, finding in findings:
        message = f"{finding.outcome} was observed {finding.count:,} times and is forbidden by {model}"
        failure = ElementTree.SubElement(case, "failure", message=_clean(message), type="forbidden")
        failure.text = _clean(f"{' and '.join(finding.checks)}\n{finding.explanation}")


def _name_device(record: Record) -> str:
    return name_with_memory(record.device, memory_of(record.options))


def _set_counts(suite: ElementTree.Element, records: Sequence[Record]) -> None:
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    suite.set("tests", str(len(records)))
    for attribute, kind in kinds.items():
        suite.set(attribute, str(sum(case.find(kind) is not None for case in suite)))
    suite.set("time", f"{sum(record.seconds for record in records):.3f}")


def _clean(text: str) -> str:
    return text.translate(PRINTABLE)
