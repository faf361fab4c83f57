"""A live view without a browser: what its page asks, and what it gets."""

import json
import time


def as_json(x):
    """x as the page gets it, bytes as a list: fails if it cannot travel."""
    text = json.dumps(x, allow_nan=False, ensure_ascii=False, default=list)
    return json.loads(text.encode("utf-8"))


def state(widget):
    """The picture that a new page gets, which asks for the whole state."""
    return as_json(widget.get_state()["picture"])


def cells(picture, panel=0):
    """The texts of a panel's cells, row by row."""
    texts, width = picture["panels"][panel]["cells"], len(picture["panels"][panel]["columns"])
    return [list(texts[k : k + width]) for k in range(0, len(texts), width)]


def wait_for(condition):
    """For what another thread will do; it fails if that takes five seconds."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def listen(widget):
    """A list of what the widget tells its page from now on, the bytes beside it put in."""
    told = []

    def send(content, buffers=()):
        panels = content.get("picture", {}).get("panels", ())
        for panel, colours in zip(panels, buffers, strict=True):
            assert panel["colours"] is None and isinstance(colours, bytes), "nothing travels twice"
            panel["colours"] = colours
        told.append(as_json(content))

    widget.send = send
    return told


def arrive(widget, content):
    """A message of the page, as the kernel hands it on."""
    data = {"method": "custom", "content": content}
    widget.comm.handle_msg({"content": {"data": data}, "buffers": []})


def ask(widget, content):
    """What the page gets for a message."""
    told = listen(widget)
    arrive(widget, content)
    wait_for(lambda: told)
    return told[0]


def change(widget, **changes):
    """Move controls; returns the picture that the page then shows."""
    picture = ask(widget, {"changes": changes, "turn": "a 1"})["picture"]
    assert picture == state(widget) and picture["turn"] == "a 1"
    return picture
