"""Outer joins, conditions and a batch over several tables: who looks after which ticket.

Run it with `python examples/support_desk.py`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import tailrace as tr


class Agent(tr.Row, table="agents"):
    id: int = tr.key()
    name: str


class Ticket(tr.Row, table="tickets"):
    id: int = tr.key()
    title: str
    agent: int | None
    opened: datetime
    closed: datetime | None


class Open(tr.Row):
    ticket: int = tr.key()
    title: str
    agent: str | None
    urgency: str


class Load(tr.Row):
    agent: str = tr.key()
    open: int
    closed: int
    mean_hours: float | None


NOON = datetime(2026, 3, 2, 12)


def open_tickets(tickets: tr.Stream[Ticket], agents: tr.Stream[Agent]) -> tr.Stream[Open]:
    """The tickets that nobody has closed, with the name of their agent if they have one."""
    waiting = tickets.filter(lambda t: tr.is_null(t.closed))
    return waiting.left_join(
        agents,
        lambda t: t.agent,
        lambda a: a.id,
        lambda t, a: Open(
            ticket=t.id,
            title=t.title,
            agent=tr.some(a).name,
            urgency=tr.when(t.opened < NOON - timedelta(days=1)).then("late").otherwise("fine"),
        ),
    )


def loads(tickets: tr.Stream[Ticket], agents: tr.Stream[Agent]) -> tr.Stream[Load]:
    """How much each agent has to do, and how long the closed tickets took."""

    class Assigned(tr.Row):
        agent: str
        hours: float | None

    assigned = tickets.join(
        agents,
        lambda t: t.agent,
        lambda a: a.id,
        lambda t, a: Assigned(agent=a.name, hours=(tr.some(t.closed) - t.opened).total_seconds() / 3600.0),
    )
    return assigned.group_by(lambda a: a.agent).aggregate(
        lambda agent, g: Load(
            agent=agent,
            open=g.count(where=lambda a: tr.is_null(a.hours)),
            closed=g.count(lambda a: a.hours),
            mean_hours=g.avg(lambda a: a.hours),
        )
    )


def main() -> None:
    with tr.connect() as db:
        agents, tickets = db.table(Agent), db.table(Ticket)
        waiting = db.create_view("open_tickets", open_tickets(tickets, agents))
        load = db.create_view("loads", loads(tickets, agents))

        day = timedelta(days=1)
        db.apply(
            tr.Batch()
            .insert(agents, [Agent(id=1, name="Ada"), Agent(id=2, name="Grace")])
            .insert(
                tickets,
                [
                    Ticket(id=1, title="Login fails", agent=1, opened=NOON - 2 * day, closed=None),
                    Ticket(id=2, title="Typo", agent=2, opened=NOON - day, closed=NOON),
                    Ticket(id=3, title="Slow page", agent=None, opened=NOON, closed=None),
                ],
            )
        )
        print("Open:", *sorted(waiting.rows(), key=lambda row: row.ticket), sep="\n  ")

        changes = db.apply(
            tr.Batch().update(tickets, {"id": 1, "closed": NOON}).update(tickets, {"id": 3, "agent": 1})
        )
        print("One step later:", *changes[waiting].events, *changes[load].events, sep="\n  ")


if __name__ == "__main__":
    main()
