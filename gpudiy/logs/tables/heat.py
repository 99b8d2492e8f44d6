"""The heat scale: lightness alone gives the order, so that it can be read in print and without seeing hues."""

from __future__ import annotations

STEPS = 12
# From hardly anything to always. On a dark page the scale is turned round: what is seen most shines.
LIGHT = ("#fdf3e4", "#f7c98a", "#ea9546", "#c9611c", "#943b0b", "#5c2006")
DARK = ("#33261a", "#5e3715", "#96531a", "#cf7a2b", "#f2aa5c", "#ffe0b0")
INK_ON_LIGHT, INK_ON_DARK = "#080605", "#ffffff"


def step_of(heat: float) -> int:
    """A heat from 0 to 1 as a step of the scale; 0 only for nothing at all."""
    return 0 if heat <= 0 else max(1, min(STEPS, round(heat * STEPS)))


def colour(step: int, dark: bool = False) -> tuple[str, str]:
    """Background and ink of a step from 1 on."""
    background = _mix_colours(DARK if dark else LIGHT, (step - 1) / (STEPS - 1))
    return background, INK_ON_LIGHT if _luminance(background) > 0.184 else INK_ON_DARK


def css() -> str:
    """The classes `h1` … of a page: its light colours, and its dark ones."""
    return "\n".join(
        (
            *(_rule(":root", step, dark=False) for step in range(1, STEPS + 1)),
            *(_rule(':root[data-theme="dark"]', step, dark=True) for step in range(1, STEPS + 1)),
        )
    )


def _rule(root: str, step: int, dark: bool) -> str:
    background, ink = colour(step, dark)
    return f"{root} .h{step} {{ background: {background}; color: {ink}; }}"


def _mix_colours(scale: tuple[str, ...], place: float) -> str:
    at = min(place * (len(scale) - 1), len(scale) - 1 - 1e-9)
    low, share = int(at), at - int(at)
    pairs = zip(_channels(scale[low]), _channels(scale[low + 1]), strict=True)
    return "#" + "".join(f"{round(one + (other - one) * share):02x}" for one, other in pairs)


def _channels(text: str) -> tuple[int, ...]:
    return tuple(int(text[place : place + 2], 16) for place in (1, 3, 5))


def _luminance(text: str) -> float:
    """Relative luminance as accessibility guidelines define it."""
    linear = [(c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4) for c in _channels(text)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
