"""What live tables show, read back from their HTML."""

import html.parser


class Rows(html.parser.HTMLParser):
    """The cells of a table's body, its headings as `# heading`, and its caption."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.head, self.caption, self._in = [], [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._in = "heading" if tag == "th" and attributes else tag
        if self._in == "heading":
            self.rows[-1].append("# ")
        elif tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self._in = ""

    def handle_data(self, data):
        if self._in in ("td", "heading"):
            self.rows[-1][-1] += data
        elif self._in == "th":
            self.head.append(data)
        elif self._in == "caption":
            self.caption += data


def rows(table):
    """What a table, or HTML, shows."""
    found = Rows(table if isinstance(table, str) else table._repr_html_())
    assert found.rows[0] == []  # the head
    return found.rows[1:]
