"""The Equations page: closed forms, derivations, operation counts and base parameters."""

from typing import Any

from ..server.job import Job
from ..server.session import Session
from .chart import stem
from .derive import Question, asked

METHODS = ("lagrange-euler", "newton-euler", "gibbs-appell")
SHOWN = {
    "Equations": "equations",
    "Derivation, step by step": "derivation",
    "One entry": "entry",
    "Counts and base parameters": "counts",
}
QUANTITIES = {"M": "M", "C": "C", "g": "g", "tau": "tau"}
SHORT = 3  # joints up to which all equations are shown by default


class EquationsPanel:
    """What to show, by which method, and the formulas."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self.show = gui.add_dropdown("Show", tuple(SHOWN), initial_value=self._usual())
        self.method = gui.add_dropdown("Method", METHODS)
        self.quantity = gui.add_dropdown("Quantity", tuple(QUANTITIES))
        self.row = gui.add_dropdown("Row", self._numbers())
        self.column = gui.add_dropdown("Column", self._numbers())
        self.button = gui.add_button("Derive")
        self.page = gui.add_button("Download the derivation (.html)")
        self.job = Job(session, gui.add_markdown("", visible=False))
        self.formulas = gui.add_html("", visible=False)
        self.button.on_click(lambda _: self._derive())
        self.page.on_click(lambda _: self._download())
        for field in (self.show, self.quantity):
            field.on_update(lambda _: self._suit())
        session.on_robot(self._replaced)
        self._suit()

    def _usual(self) -> str:
        few = self.session.robot.n <= SHORT
        return "Equations" if few else "Counts and base parameters"

    def _numbers(self) -> tuple[str, ...]:
        return tuple(str(i + 1) for i in range(self.session.robot.n))

    def _suit(self) -> None:
        one = self.show.value == "One entry"
        self.method.visible = SHOWN.get(self.show.value) != "counts"
        self.quantity.visible = self.row.visible = one
        self.column.visible = one and self.quantity.value in ("M", "C")

    def _replaced(self) -> None:
        self.formulas.visible, self.formulas.content = False, ""
        if not self.job.is_running:
            self.job.say("")
        numbers = self._numbers()
        if tuple(self.row.options) != numbers:
            self.row.options = self.column.options = numbers
            self.show.value = self._usual()
        self._suit()

    def _question(self, **options: Any) -> Question:
        names = {"method": self.method.value, **options}
        return Question.of(
            self.session.robot,
            names.pop("show", SHOWN.get(self.show.value, "counts")),
            entry=QUANTITIES.get(self.quantity.value, "M"),
            i=_index(self.row.value),
            j=_index(self.column.value),
            **names,
        )

    def _derive(self) -> None:
        gone = self.session.closed
        if not self.job.is_running:
            self.formulas.visible = False
        self.job.start("deriving", lambda say: asked(self._question(), gone), self._shown)

    def _shown(self, html: str) -> None:
        self.formulas.content, self.formulas.visible = html, True

    def _download(self) -> None:
        gone, name = self.session.closed, stem(self.session.robot.name)

        def work(say: Any) -> str:
            return asked(self._question(show="derivation", page=True), gone)

        def done(html: str) -> None:
            self.session.client.send_file_download(
                f"{name}_{self.method.value}.html", html.encode(), save_immediately=True
            )

        self.job.start("deriving", work, done)


def _index(text: str) -> int:
    return int(text) - 1 if text.isdigit() else 0
