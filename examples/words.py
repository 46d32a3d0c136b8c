"""Python where it must run: a list per row, a function over Arrow arrays, and one over rows.

Run it with `python examples/words.py`.
"""

from __future__ import annotations

import pyarrow.compute as pc

import tailrace as tr


class Page(tr.Row, table="pages"):
    url: str = tr.key()
    text: str


class Word(tr.Row):
    url: str
    word: str


class Count(tr.Row):
    word: str = tr.key()
    uses: int
    pages: int


class Card(tr.Row):
    url: str = tr.key()
    title: str


@tr.udf
def plain(text: tr.Array[str]) -> tr.Array[str]:
    """Letters alone, in lower case: whole columns at a time, in Arrow's own kernels."""
    return pc.utf8_lower(pc.replace_substring_regex(text, "[^A-Za-z ]", ""))  # type: ignore[no-any-return]


def card(page: Page) -> Card:
    """A title in plain Python, called with real rows."""
    first, _, _ = page.text.partition(".")
    return Card(url=page.url, title=first.title() if len(first) < 30 else first[:27].title() + "...")


def counts(pages: tr.Stream[Page]) -> tr.Stream[Count]:
    """How often each word is used, and on how many pages."""
    words = pages.flat_map(lambda p: plain(p.text).split(" "), lambda p, word: Word(url=p.url, word=word))
    return words.group_by(lambda w: w.word).aggregate(
        lambda word, g: Count(word=word, uses=g.count(), pages=g.count_distinct(lambda w: w.url))
    )


def main() -> None:
    with tr.connect() as db:
        pages = db.table(Page)
        common = db.create_view("common", counts(pages).filter(lambda c: c.uses > 1))
        cards = db.create_view("cards", pages.map_rows(card))

        db.insert(
            pages,
            [
                Page(url="/a", text="The river runs. The mill turns."),
                Page(url="/b", text="The mill race is a small river."),
            ],
        )
        print("Used more than once:", *sorted(common.rows(), key=lambda row: row.word), sep="\n  ")

        changes = db.upsert(pages, Page(url="/b", text="A tail race. Water leaves the wheel."))
        print("After an edit:", *sorted(changes[common].events, key=str), *changes[cards].events, sep="\n  ")


if __name__ == "__main__":
    main()
