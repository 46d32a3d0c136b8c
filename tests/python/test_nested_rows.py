"""Rows inside of rows in typed programs: a nested `Row` and a `list[Row]` as columns, from aggregates and joins to events and patches."""

from __future__ import annotations

import tailrace as tr


class Author(tr.Row):
    id: int = tr.key()
    name: str


class Book(tr.Row):
    id: int = tr.key()
    author: int
    title: str
    year: int | None


class Title(tr.Row):
    id: int = tr.key()
    title: str
    year: int | None


class Shelf(tr.Row):
    author: int = tr.key()
    books: list[Title]


class Card(tr.Row):
    id: int = tr.key()
    who: Author
    books: list[Title]


def shelves(books: tr.Stream[Book]) -> tr.Stream[Shelf]:
    return books.group_by(lambda b: b.author).aggregate(
        lambda author, g: Shelf(
            author=author,
            books=g.array_agg(
                lambda b: Title(id=b.id, title=b.title, year=b.year), order_by=lambda b: (b.year, b.id)
            ),
        )
    )


def test_children_are_rows_of_their_class(db: tr.Database) -> None:
    books = db.table(Book)
    view = db.create_view("shelves", shelves(books))
    changes = db.insert(
        books,
        [Book(id=1, author=7, title="b", year=2001), Book(id=2, author=7, title="a", year=1999)],
    )
    expected = Shelf(author=7, books=[Title(id=2, title="a", year=1999), Title(id=1, title="b", year=2001)])
    assert view.rows() == [expected]
    assert changes[view].events == [tr.Created(expected)]


def test_patches_go_by_the_keys_of_row_classes(db: tr.Database) -> None:
    books = db.table(Book)
    view = db.create_view("shelves", shelves(books))
    db.insert(books, [Book(id=n, author=7, title="t", year=2000 + n) for n in (1, 2, 3)])
    tree = view.tree()
    changes = db.apply(
        tr.Batch()
        .update(books, {"id": 1, "year": 2009})
        .update(books, {"id": 2, "title": "new"})
        .delete(books, 3)
    )
    assert changes[view].patches == [
        tr.DeletePatch(({"author": 7}, "books", {"id": 3})),
        tr.MovePatch(({"author": 7}, "books", {"id": 2}), 0),
        tr.UpdatePatch(({"author": 7}, "books", {"id": 2}), {"title": "new"}),
        tr.UpdatePatch(({"author": 7}, "books", {"id": 1}), {"year": 2009}),
    ]
    tree.apply(changes[view].patches)
    assert tree[7]["books"] == [
        {"id": 2, "title": "new", "year": 2002},
        {"id": 1, "title": "t", "year": 2009},
    ]


def test_parents_keep_an_empty_list_where_there_are_no_children(db: tr.Database) -> None:
    authors, books = db.table(Author), db.table(Book)
    view = db.create_view(
        "cards",
        authors.left_join(
            shelves(books),
            lambda a: a.id,
            lambda s: s.author,
            lambda a, s: Card(id=a.id, who=a, books=tr.coalesce(tr.some(s).books, [])),
        ),
    )
    db.insert(authors, [Author(id=1, name="x"), Author(id=7, name="y")])
    db.insert(books, Book(id=1, author=7, title="b", year=None))
    assert sorted(view.rows(), key=lambda card: card.id) == [
        Card(id=1, who=Author(id=1, name="x"), books=[]),
        Card(id=7, who=Author(id=7, name="y"), books=[Title(id=1, title="b", year=None)]),
    ]
    changes = db.update(authors, {"id": 7, "name": "z"})
    assert changes[view].patches == [tr.UpdatePatch(({"id": 7}, "who"), {"name": "z"})]


def test_nested_rows_can_be_read_in_lambdas(db: tr.Database) -> None:
    authors, books = db.table(Author), db.table(Book)
    cards = authors.join(
        shelves(books),
        lambda a: a.id,
        lambda s: s.author,
        lambda a, s: Card(id=a.id, who=a, books=s.books),
    )

    class Summary(tr.Row):
        name: str = tr.key()
        books: int

    view = db.create_view(
        "summaries", cards.map(lambda card: Summary(name=card.who.name, books=tr.length(card.books)))
    )
    db.insert(authors, Author(id=7, name="y"))
    db.insert(books, [Book(id=n, author=7, title="b", year=None) for n in range(3)])
    assert view.rows() == [Summary(name="y", books=3)]
