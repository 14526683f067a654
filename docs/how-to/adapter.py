"""A template: protocol 1 in Python, with one step to begin with. Copy it, and replace `Port` by your code.

refimpl conform --check-adapter "python adapter.py"
refimpl conform --subject "cmd:python adapter.py"
refimpl conform --subject "py:adapter:Port"          # the same without a process of its own
"""

import json
import sys


class Ending(Exception):  # noqa: N818
    """A step that ends otherwise than with a value: `form` is `error`, `panic` or `unsupported`."""

    def __init__(self, form, kind, text=""):
        super().__init__(text)
        name = "capability" if form == "unsupported" else "kind"
        self.outcome = {form: {name: kind, "text": text}}


class Port:
    """What is checked. Everything about the rules stands in this class; the protocol stands below it."""

    def hello(self):
        """Who this is, and what it can do: claim no more than is there."""
        return {
            "protocol": 1,
            "impl": {"name": "my port", "version": "0.1.0", "language": "python", "backend": "none"},
            "caps": {
                "fixtures": [],  # "zoo/1", "dynamic/1": which modules of spec/fixtures.md can be built
                "devices": {"executing": ["d0"], "count": 8},
                "dtypes": [],
                "capabilities": ["parallel"],
            },
            "limits": {"max_frame": 1 << 24, "in_flight": 1},
        }

    def reset(self):
        """Nothing is kept from one case to the next."""
        self.held = {}

    def case(self, name, steps):  # noqa: ARG002
        """One outcome a step; the trace goes on after any of them."""
        self.reset()
        return [self.outcome(step) for step in steps]

    def outcome(self, step):
        """What a step comes to: a value, or the way in which it ended."""
        try:
            name = step["do"] if "do" in step else "observe." + step["observe"]
            method = getattr(self, name.replace(".", "_"), None)
            if method is None or "." not in name:
                raise Ending("unsupported", name, "not yet")
            return {"ok": method(step)}
        except Ending as ending:
            return ending.outcome
        except (KeyError, TypeError, ValueError) as error:
            # A step that lacks an argument, or names a handle that is not there.
            return Ending("error", "Protocol", repr(error)).outcome

    # One method a step, named as the step with `_` for `.`: write the next ones here.

    def placement_even(self, step):
        """`placement.even`: the hidden layers in order across the devices."""
        devices, hidden = step["devices"], int(step["hidden"])  # an integer may come as a text
        if not devices:
            raise Ending("panic", "Placement", "a placement needs at least one device")
        used = devices[: max(1, min(hidden, len(devices)))]
        each, more = divmod(hidden, len(used))
        return self.keep(step, [name for i, name in enumerate(used) for _ in range(each + (i < more))], used)

    def observe_placement(self, step):
        """`{"observe": "placement", "on": handle}`."""
        return self.held[step["on"]]

    def keep(self, step, hidden, used):
        """The placement as results write it, kept under the step's `as`."""
        stages = []
        for name in hidden:
            if stages and hardware(stages[-1][0]) == hardware(name):
                stages[-1][1] += 1
            else:
                stages.append([name, 1])
        devices = []
        for name in (used[0], *hidden, used[-1]):
            if hardware(name) not in map(hardware, devices):
                devices.append(name)
        form = {"input": used[0], "hidden": hidden, "output": used[-1], "devices": devices, "stages": stages}
        if "as" in step:
            self.held[step["as"]] = form
        return form


def hardware(device):
    """A device without its autodiff tag, which equality ignores."""
    return device.partition("+")[0]


# The protocol: one JSON object a line, one answer a request. There is nothing to change from here on.


def answer(port, line):
    """The answer to one line; one that cannot be read is answered too."""
    number = None
    try:
        request = json.loads(line)
        number = request.get("id")
        match request.get("op"):
            case "hello":
                result = port.hello()
            case "case":
                result = {"steps": port.case(request["case"], request["steps"])}
            case "reset":
                port.reset()
                result = {}
            case "ping" | "bye":
                result = {}
            case other:
                raise ValueError(f"there is no operation {other!r}")
    except (ValueError, KeyError, AttributeError) as error:
        return {"id": number, "error": {"kind": "Protocol", "text": str(error)}}, False
    return {"id": number, "ok": result}, request["op"] == "bye"


def main():
    """Answer until `bye`, or until nobody asks any more."""
    port = Port()
    for line in sys.stdin.buffer:
        reply, last = answer(port, line)
        # Binary, so that no system turns a line's end into two characters; flushed, or nobody reads it.
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()
        if last:
            break


if __name__ == "__main__":
    main()
