"""Models compiled: a cat file becomes the steps of a `Model`; equal expressions are computed once."""

from __future__ import annotations

from pathlib import Path

from gpudiy.errors import near_name
from gpudiy.models import cat_tree as tree
from gpudiy.models.cat_parser import parse_cat
from gpudiy.models.chips import ChipRange, read_chips
from gpudiy.models.event_sets import SETS
from gpudiy.models.model import CompiledCheck, FixedPoint, Model, Operand, Operation, Stage
from gpudiy.models.skeleton import RELATIONS

DYNAMIC = {"rf": Stage.READS, "syncbar": Stage.READS, "co": Stage.COHERENCE}
FUNCTIONS = {"domain": 1, "range": 1, "fencerel": 1, "toid": 1}
UNSUPPORTED = "unsupported"  # how the names of flags begin that say what a model gives no meaning
SOURCES = ("partial_orders", "orientations")


class _Compiler:
    def __init__(self, file: tree.CatFile, name: str) -> None:
        self.file = file
        self.model = Model(name, file.title, text=file.source.text, path=file.source.path)
        self.known: dict[object, Operand] = {}
        self.bindings: dict[str, Operand] = {}
        self.functions: dict[str, tree.Binding] = {}
        self.calling: list[str] = []
        self.including = [Path(file.source.path).resolve()]
        self.loop: list[Operation] | None = None
        self.looping: set[int] = set()

    def compile(self) -> Model:
        if self.file.chips is not None:
            self.model.chips = self.chips(self.file.chips)
        self.statements(self.file)
        if not self.model.checks:
            raise self.file.source.error("a model needs at least one check", len(self.file.source.text.rstrip()))
        flags = [check for check in self.model.checks if check.flagged and check.stage is Stage.EVENTS]
        self.model.unsupported = [flag for flag in flags if flag.name.startswith(UNSUPPORTED)]
        return self.model

    def chips(self, chips: tree.ChipsStatement) -> ChipRange:
        try:
            return read_chips(chips.text)
        except ValueError as problem:
            raise self.file.source.error(str(problem), chips.offset) from None

    def statements(self, file: tree.CatFile) -> None:
        self.file = file
        for statement in file.statements:
            match statement:
                case tree.Let(bindings=bindings, recursive=True):
                    self.recursive(bindings)
                case tree.Let(bindings=bindings):
                    self.let(bindings)
                case tree.CheckStatement():
                    self.check(statement)
                case tree.With():
                    self.choice(statement)
                case tree.Include():
                    self.include(statement)

    def include(self, include: tree.Include) -> None:
        outer = self.file
        path = Path(outer.source.path).parent / include.file
        if not path.exists():
            path = LIBRARY / include.file
        if not path.exists():
            raise outer.source.error(f"there is no file {include.file!r}", include.offset)
        if path.resolve() in self.including:
            raise outer.source.error(f"{include.file!r} includes itself", include.offset)
        self.including.append(path.resolve())
        self.statements(parse_cat(path.read_text(), str(path)))
        self.including.pop()
        self.file = outer

    def let(self, bindings: tuple[tree.Binding, ...]) -> None:
        values = []
        for binding in bindings:
            if binding.parameters:
                self.functions[binding.name] = binding
            else:
                values.append((binding.name, self.value(binding.body, {})))
        for name, value in values:
            self.bindings[name] = self.model.named[name] = value

    def recursive(self, bindings: tuple[tree.Binding, ...]) -> None:
        """A least fixed point: all start empty and grow until nothing changes."""
        stage = max((self.stage_of(binding.body) for binding in bindings), default=Stage.EVENTS)
        variables = []
        for binding in bindings:
            if binding.parameters:
                raise self.file.source.error("a recursive function", binding.offset)
            operand = self.fresh(False, stage)
            self.looping.add(operand.slot)
            self.bindings[binding.name] = self.model.named[binding.name] = operand
            variables.append(operand)
        self.loop = []
        results = [self.value(binding.body, {}) for binding in bindings]
        body, self.loop = self.loop, None
        slots = tuple(variable.slot for variable in variables)
        self.model.steps.append(FixedPoint(slots, tuple(body), tuple(result.slot for result in results), stage))
        self.looping.clear()

    def stage_of(self, expression: tree.Expression) -> Stage:
        """When all parts of a recursive definition are known, but for itself."""
        match expression:
            case tree.Name(name=name):
                known = self.bindings.get(name)
                if known is not None:
                    return known.stage
                return Stage.COHERENCE if name == "fr" else DYNAMIC.get(name, Stage.EVENTS)
            case tree.UnaryExpression(inner=inner):
                return self.stage_of(inner)
            case tree.BinaryExpression(left=left, right=right):
                return max(self.stage_of(left), self.stage_of(right))
            case tree.Call(function=function, arguments=arguments):
                inside = [self.functions[function].body] if function in self.functions else []
                return max(self.stage_of(part) for part in (*arguments, *inside))
            case tree.Empty():
                return Stage.EVENTS

    def check(self, check: tree.CheckStatement) -> None:
        value = self.value(check.expression, {})
        if value.is_set and check.test != "empty":
            raise self.file.source.error(f"{check.test} asks about a relation, this is a set", check.offset)
        compiled = CompiledCheck(check.name, check.test, check.negated, check.flagged, value.slot, value.stage)
        self.model.steps.append(compiled)

    def choice(self, choice: tree.With) -> None:
        if choice.source not in SOURCES:
            hint = near_name(choice.source, SOURCES) or "sources: " + ", ".join(SOURCES)
            raise self.file.source.error(f"unknown source {choice.source!r}", choice.offset, hint)
        if choice.source == "partial_orders":
            if choice.name != "co" or choice.arguments:
                raise self.file.source.error("only co is chosen from partial_orders", choice.offset)
            self.model.partial_co = True
            return
        if len(choice.arguments) != 1:
            raise self.file.source.error("orientations takes the pairs to orient", choice.offset)
        pairs = self.value(choice.arguments[0], {})
        if pairs.is_set or pairs.stage is not Stage.EVENTS:
            raise self.file.source.error("the pairs to orient must depend on the events alone", choice.offset)
        order = self.fresh(False, Stage.ORDERS)
        self.model.orders.append((order.slot, pairs.slot))
        self.bindings[choice.name] = self.model.named[choice.name] = order

    def value(self, expression: tree.Expression, local: dict[str, Operand]) -> Operand:
        match expression:
            case tree.Name():
                return self.name(expression, local)
            case tree.Empty():
                return self.emit("empty", (), False)
            case tree.UnaryExpression(operator=operator, inner=inner):
                return self.unary(operator, self.value(inner, local), expression.offset)
            case tree.BinaryExpression(operator=operator, left=left, right=right):
                return self.binary(operator, self.value(left, local), self.value(right, local), expression.offset)
            case tree.Call():
                return self.call(expression, local)

    def name(self, name: tree.Name, local: dict[str, Operand]) -> Operand:
        word = name.name
        if word in local:
            return local[word]
        if word in self.bindings:
            return self.bindings[word]
        if word == "fr":
            return self.value(
                tree.BinaryExpression(";", tree.UnaryExpression("^-1", tree.Name("rf", 0), 0), tree.Name("co", 0), 0),
                {},
            )
        if word == "emptyset":
            return self.emit("empty", (), True)
        if word in SETS or word in RELATIONS or word in DYNAMIC:
            stage = DYNAMIC.get(word, Stage.EVENTS)
            if word not in self.model.inputs:
                operand = self.fresh(word in SETS, stage)
                self.model.inputs[word] = operand.slot
                self.known["input", word] = operand
            return self.known["input", word]
        known = [*local, *self.bindings, *self.functions, *SETS, *RELATIONS, *DYNAMIC, "fr"]
        raise self.file.source.error(f"unknown name {word!r}", name.offset, near_name(word, known))

    def unary(self, operator: str, inner: Operand, offset: int) -> Operand:
        if operator == "[]":
            self.need(inner, True, "[…] takes a set", offset)
            return self.emit("identity", (inner,), False)
        if operator == "~":
            self.need_growth(inner, offset)
            return self.emit("set complement" if inner.is_set else "complement", (inner,), inner.is_set)
        self.need(inner, False, f"{operator} takes a relation", offset)
        if operator == "*":
            return self.emit("reflexive", (self.emit("closure", (inner,), False),), False)
        return self.emit({"+": "closure", "?": "reflexive", "^-1": "inverse"}[operator], (inner,), False)

    def binary(self, operator: str, left: Operand, right: Operand, offset: int) -> Operand:
        if operator in ("*", ";"):
            of_sets = operator == "*"
            for operand in (left, right):
                self.need(operand, of_sets, f"{operator} takes two {'sets' if of_sets else 'relations'}", offset)
            return self.emit("product" if of_sets else "composition", (left, right), False)
        if left.is_set != right.is_set and not (self.is_empty(left) or self.is_empty(right)):
            raise self.file.source.error(f"{operator} of a set and a relation", offset)
        if operator == "\\":
            self.need_growth(right, offset)
        kind = {"|": "union", "&": "intersection", "\\": "difference"}[operator]
        return self.emit(kind, (left, right), left.is_set and right.is_set)

    def is_empty(self, operand: Operand) -> bool:
        return operand in (self.known.get(("empty", (), False)), self.known.get(("empty", (), True)))

    def call(self, call: tree.Call, local: dict[str, Operand]) -> Operand:
        arguments = [self.value(argument, local) for argument in call.arguments]
        if call.function in self.functions:
            binding = self.functions[call.function]
            if len(binding.parameters) != len(arguments):
                problem = f"{call.function} takes {len(binding.parameters)} arguments, not {len(arguments)}"
                raise self.file.source.error(problem, call.offset)
            if call.function in self.calling:
                raise self.file.source.error(f"{call.function} calls itself; only let rec may", call.offset)
            self.calling.append(call.function)
            result = self.value(binding.body, dict(zip(binding.parameters, arguments, strict=True)))
            self.calling.pop()
            return result
        if call.function not in FUNCTIONS:
            hint = near_name(call.function, [*self.functions, *FUNCTIONS])
            raise self.file.source.error(f"unknown function {call.function!r}", call.offset, hint)
        if len(arguments) != 1:
            raise self.file.source.error(f"{call.function} takes one argument", call.offset)
        (argument,) = arguments
        if call.function in ("domain", "range"):
            self.need(argument, False, f"{call.function} takes a relation", call.offset)
            return self.emit(call.function, (argument,), True)
        self.need(argument, True, f"{call.function} takes a set", call.offset)
        if call.function == "toid":
            return self.unary("[]", argument, call.offset)
        order = self.name(tree.Name("po", call.offset), {})
        before = self.emit("product", (self.name(tree.Name("_", call.offset), {}), argument), False)
        return self.emit("composition", (self.emit("intersection", (order, before), False), order), False)

    def need(self, operand: Operand, is_set: bool, message: str, offset: int) -> None:
        if operand.is_set != is_set and not self.is_empty(operand):
            raise self.file.source.error(message, offset)

    def need_growth(self, operand: Operand, offset: int) -> None:
        """A recursive definition must grow with itself, or it would have no least fixed point."""
        if operand.slot in self.looping:
            raise self.file.source.error("a recursive definition subtracts what it defines", offset)

    def emit(self, kind: str, operands: tuple[Operand, ...], is_set: bool) -> Operand:
        slots = tuple(operand.slot for operand in operands)
        inside = any(slot in self.looping for slot in slots)
        key = (kind, slots, is_set)
        if not inside and key in self.known:
            return self.known[key]
        stage = max((operand.stage for operand in operands), default=Stage.EVENTS)
        result = self.fresh(is_set, stage)
        operation = Operation(kind, result.slot, slots, stage)
        if inside and self.loop is not None:
            self.looping.add(result.slot)
            self.loop.append(operation)
        else:
            self.known[key] = result
            self.model.steps.append(operation)
        return result

    def fresh(self, is_set: bool, stage: Stage) -> Operand:
        self.model.slots += 1
        return Operand(self.model.slots - 1, is_set, stage)


LIBRARY = Path(__file__).parent / "library"


def compile_cat(text: str, path: str, name: str) -> Model:
    """Compile the text of a model; raises `InputError` with the place of a mistake."""
    try:
        return _Compiler(parse_cat(text, path), name).compile()
    except RecursionError:
        raise tree.CatSource(text, path).error("an expression of this model is nested too deeply", 0) from None
