"""Picture of orders."""

from mockkube.report.drawing.order_drawing import OrderDrawing, OrderRow

ROWS = [
    OrderRow(["apiserver", "scheduler"], "good", "safe"),
    OrderRow(["scheduler", "apiserver"], "bad", "not safe", 8),
]


def test_a_step_has_one_color_in_every_order() -> None:
    drawing = OrderDrawing("title", ROWS, score_max=8)
    colors = {(box.name, box.color) for row in drawing.rows for box in row.boxes}
    assert len(colors) == len({name for name, _ in colors}) == len({color for _, color in colors}) == 2
    assert [bool(row.bar) for row in drawing.rows] == [False, True]
    assert drawing.rows[1].words == "scheduler, then apiserver: not safe"


def test_steps_of_a_group_share_a_color() -> None:
    row = OrderRow(["apiserver 1.36", "apiserver 1.37"], "good", "safe", groups=["apiserver", "apiserver"])
    [drawn] = OrderDrawing("title", [row]).rows
    assert len({box.color for box in drawn.boxes}) == 1


def test_of_many_orders_the_first_and_the_last_are_drawn() -> None:
    rows = [OrderRow([str(number)], "bad", "not safe", number) for number in range(100)]
    drawing = OrderDrawing("title", rows, score_max=99, rows_max=10)
    assert [one.row.score for one in drawing.rows] == [0, 1, 2, 3, 4, 96, 97, 98, 99]
    assert drawing.omitted == "… 91 more orders …"
    places = sorted([drawing.gap_y, *(one.y for one in drawing.rows)])
    assert places == [18.0 * index for index in range(10)]
