"""Which columns the columns of a SELECT come from."""

from __future__ import annotations

import pytest

from dataflow.pipelines.sql.column_origins import list_origins

COLUMNS = {
    "orders": ("id", "amount", "day", "customer"),
    "customers": ("id", "name"),
    "events": (),
    "CaMel": ("Big",),
}


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("select id, amount * 2 as twice from orders", {"id": "orders.id", "twice": "orders.amount"}),
        (
            "select o.id, upper(name) as n from orders o join customers c on c.id = o.customer",
            {"id": "orders.id", "n": "customers.name"},
        ),
        (
            "with t as (select day, sum(amount) as total from orders group by 1) "
            "select day, rank() over (order by total) as place from t",
            {"day": "orders.day", "place": "orders.amount"},
        ),
        ("select (select max(amount) from orders) as most", {"most": "orders.amount"}),
        ("select id from orders union all select id from customers", {"id": "orders.id customers.id"}),
        ("select coalesce(amount, id) as x from orders", {"x": "orders.amount orders.id"}),
        ('select "Big" as b from "CaMel"', {"b": "CaMel.Big"}),
        ('select amount as "Total" from orders', {"Total": "orders.amount"}),
        ("select count(*) as n, 1 as one from orders", {"n": "", "one": ""}),
        ("select * from customers", {"id": "customers.id", "name": "customers.name"}),
        ("select * from events", {"*": "events.*"}),
        ("select e.a, b + 1 as c from events e", {"a": "events.a", "c": "events.b"}),
        ("select e.v from orders, jsonb_array_elements(orders.amount) as e(v)", {"v": "orders.*"}),
    ],
)
def test_each_column_has_the_columns_it_is_computed_from(select: str, expected: dict[str, str]) -> None:
    found = list_origins(select, "postgres", COLUMNS, "query")
    shown = {name: [f"{table}.{column}" for table, column in origins] for name, origins in found.items()}
    assert {name: sorted(origins) for name, origins in shown.items()} == {
        name: sorted(text.split()) for name, text in expected.items()
    }
