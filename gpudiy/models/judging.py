"""What a worker process does: read a file, decide its tests, and send back text and plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudiy.litmus.content import content_hash
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.sources import load_tests
from gpudiy.litmus.test import Test
from gpudiy.models.library import load_model
from gpudiy.models.search import OutOfTime
from gpudiy.models.trace import Undecidable
from gpudiy.models.verdict import Engine, decide, outcomes


@dataclass(slots=True)
class Answer:
    """The verdicts of one test under all models, or what went wrong with its file."""

    file: str
    test: str = ""
    quantifier: str = ""
    content_hash: str = ""
    verdicts: dict[str, str] = field(default_factory=dict)  # by model: allowed, forbidden, undecided
    holds: dict[str, bool] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, list[str]] = field(default_factory=dict)
    error: str | None = None
    undecided: bool = False
    bounded: bool = False  # a forbidden verdict may be due to the bound on loops


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides all tests of a file; a value, so that it can be sent to a worker."""

    models: tuple[str, ...]
    engine: str
    unroll: int
    limit: float | None
    mode: str

    def __call__(self, source: str) -> list[Answer]:
        answers: list[Answer] = []
        try:
            for test in load_tests(source):
                answers.append(self.judge(source, test))
        except LitmusError as error:
            answers.append(Answer(source, error=str(error)))
        return answers

    def judge(self, source: str, test: Test) -> Answer:
        answer = Answer(source, test.name, test.condition.quantifier, content_hash(test))
        for model in self.models:
            try:
                self._decide(test, model, answer)
            except Undecidable as problem:
                answer.error = f"{source}: error: {test.name}: {problem}"
                answer.verdicts[model] = "unsupported"
            except OutOfTime:
                answer.error = f"{source}: {test.name} is undecided by {model} after {self.limit:g} s"
                answer.verdicts[model] = "undecided"
                answer.undecided = True
        return answer

    def _decide(self, test: Test, name: str, answer: Answer) -> None:
        model = load_model(name)
        engine = Engine(self.engine)
        if self.mode == "outcomes":
            from gpudiy.litmus.outcome import outcome_text
            from gpudiy.models.report import listing

            found = outcomes(test, model, engine, self.unroll, self.limit)
            answer.texts[name] = listing(test, found)
            answer.outcomes[name] = [outcome_text(test, outcome) for outcome in found]
        verdict = decide(test, model, engine, self.unroll, self.limit)
        answer.verdicts[name] = verdict.word
        answer.holds[name] = verdict.holds
        answer.bounded = answer.bounded or (verdict.bounded and not verdict.allowed)
        if self.mode == "explain":
            from gpudiy.models.explanation import explain
            from gpudiy.models.report import explanation_text

            answer.texts[name] = explanation_text(explain(verdict, self.unroll))
