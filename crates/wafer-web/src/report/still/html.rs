//! Elements and tables as text.

/// A cell of a table.
pub(super) struct Cell {
    text: String,
    number: bool,
}

/// Returns a text cell.
pub(super) fn text(text: &str) -> Cell {
    Cell { text: text.to_owned(), number: false }
}

/// Returns a number cell.
pub(super) fn number(text: String) -> Cell {
    Cell { text, number: true }
}

/// Escapes text for HTML, including quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns a table; the first cell of a row is its heading.
pub(super) fn table(
    caption: &str,
    columns: &[&str],
    rows: impl IntoIterator<Item = Vec<Cell>>,
) -> String {
    let rows: Vec<Vec<Cell>> = rows.into_iter().collect();
    let class = |number: bool| if number { " class=\"number\"" } else { "" };
    let head = columns.iter().enumerate().map(|(i, name)| {
        let number = rows.first().and_then(|row| row.get(i)).is_some_and(|cell| cell.number);
        format!("<th scope=\"col\"{}>{}</th>", class(number), escape(name))
    });
    let body = rows.iter().map(|row| {
        let cells = row.iter().enumerate().map(|(i, cell)| {
            let tag = if i == 0 { "th scope=\"row\"" } else { "td" };
            let end = if i == 0 { "th" } else { "td" };
            format!("<{tag}{}>{}</{end}>", class(cell.number), escape(&cell.text))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    });
    format!(
        "<div class=\"scroll\"><table>\n<caption>{}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n\
         </table></div>\n",
        escape(caption),
        head.collect::<String>(),
        body.collect::<String>()
    )
}
