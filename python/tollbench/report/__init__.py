"""The report: `Results` in, text out. Formats numbers and computes nothing.

One module a format, each with one function: `html.render`, `terminal.render`, `markdown.render`,
`csv.render`, `json.render`. What they share: `numbers` (digits and units), `text` (names from strangers
made harmless), `cases` (how a case is called within its workload).
"""
