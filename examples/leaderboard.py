"""Top-k, ranks and neighbours that stay right when scores are corrected.

Run it with `python examples/leaderboard.py`.
"""

from __future__ import annotations

import tailrace as tr


class Score(tr.Row, table="scores"):
    player: str = tr.key()
    league: str
    points: int


class Place(tr.Row):
    player: str = tr.key()
    league: str
    place: int
    behind: int
    """How many points the player lacks to the one before."""


def places(scores: tr.Stream[Score]) -> tr.Stream[Place]:
    """Every player's place in the league, and the gap to the next one up."""
    ranked = scores.over(partition_by=lambda s: s.league, order_by=lambda s: (tr.desc(s.points), s.player))
    return ranked.map(
        lambda s, window: Place(
            player=s.player,
            league=s.league,
            place=window.rank(),
            behind=tr.coalesce(window.lag(lambda before: before.points), s.points) - s.points,
        )
    )


def main() -> None:
    with tr.connect() as db:
        scores = db.table(Score)
        board = db.create_view("board", places(scores))
        podium = db.create_view("podium", scores.group_by(lambda s: s.league).top_k(2, by=lambda s: s.points))

        points = {"Mia": 31, "Noah": 28, "Zoe": 28, "Liam": 12}
        db.insert(scores, [Score(player=name, league="north", points=n) for name, n in points.items()])
        print("Board:", *sorted(board.rows(), key=lambda row: row.place), sep="\n  ")

        changes = db.update(scores, {"player": "Liam", "points": 40})
        print("Liam's score was wrong:", *changes[podium].events, sep="\n  ")
        print("Board:", *sorted(board.rows(), key=lambda row: row.place), sep="\n  ")


if __name__ == "__main__":
    main()
