"""Programs written by hand: steps that each read the one before."""

from peers.program import Program, Step


def chain(**steps: tuple[str, str]) -> Program:
    """A program of such steps, each by its texts in gradc and in PyTorch."""
    names = ["x0", *steps]
    made = tuple(
        Step(name, name, (before,), *(f"{name} = {text.format(x=before)}" for text in texts))
        for (name, texts), before in zip(steps.items(), names, strict=False)
    )
    inputs = {"x0": "np.linspace(-1, 1, 7)"}
    return Program(inputs, made, (names[-1],), "float64", "by_managers", False)


EXP = "F.exp({x})", "torch.exp({x})"
