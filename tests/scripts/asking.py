"""Stand in for the page of a live view, without a browser: send its messages, read the answers."""

import itertools
import json
import time

TURNS = itertools.count(1)


def as_json(x):
    """Return x as the page receives it, bytes as a list; fail if JSON cannot carry it."""
    text = json.dumps(x, allow_nan=False, ensure_ascii=False, default=list)
    return json.loads(text.encode("utf-8"))


def state(widget):
    """Return the picture that a new page gets when it asks for the whole state."""
    return as_json(widget.get_state()["picture"])


def cells(picture, panel=0):
    """Return the texts of a panel's cells, row by row."""
    texts, width = picture["panels"][panel]["cells"], len(picture["panels"][panel]["columns"])
    return [list(texts[k : k + width]) for k in range(0, len(texts), width)]


def wait_for(condition):
    """Wait for something that another thread does; fail after five seconds."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def listen(widget):
    """Return a list that collects what the widget sends its page from now on, colours put in."""
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
    """Hand the widget a message of the page, as the kernel does."""
    data = {"method": "custom", "content": content}
    widget.comm.handle_msg({"content": {"data": data}, "buffers": []})


def ask(widget, content):
    """Send the widget a message; return the first answer that the page gets."""
    told = listen(widget)
    arrive(widget, content)
    wait_for(lambda: told)
    return told[0]


def change(widget, **changes):
    """Move controls; return the picture that the page then shows."""
    turn = f"a {next(TURNS)}"
    picture = ask(widget, {"changes": changes, "turn": turn})["picture"]
    assert picture == state(widget) and picture["turn"] == turn
    return picture
