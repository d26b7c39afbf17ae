import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON of one line: Java's library has none. Numbers become Long where they are whole, else Double. */
final class Json {
    private static final int DEEPEST = 64;
    private final String text;
    private int at;
    private int depth;

    Json(String text) {
        this.text = text;
    }

    /** The value that is the whole text. Throws IllegalArgumentException for anything else. */
    Object whole() {
        Object value = value();
        skipSpace();
        if (at < text.length()) {
            throw wrong("the end");
        }
        return value;
    }

    private Object value() {
        skipSpace();
        char next = at < text.length() ? text.charAt(at) : '\0';
        return switch (next) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object() {
        Map<String, Object> fields = new LinkedHashMap<>();
        open();
        for (boolean first = true; !closes('}', first); first = false) {
            skipSpace();
            String name = string();
            expect(':');
            fields.put(name, value());
        }
        return fields;
    }

    private List<Object> array() {
        List<Object> values = new ArrayList<>();
        open();
        for (boolean first = true; !closes(']', first); first = false) {
            values.add(value());
        }
        return values;
    }

    private void open() {
        at++;
        if (++depth > DEEPEST) {
            throw wrong("less nesting");
        }
    }

    /** True at the closing bracket; otherwise takes the comma that all values but the first have before them. */
    private boolean closes(char bracket, boolean first) {
        skipSpace();
        if (at < text.length() && text.charAt(at) == bracket) {
            at++;
            depth--;
            return true;
        }
        if (!first) {
            expect(',');
        }
        return false;
    }

    private String string() {
        expect('"');
        StringBuilder made = new StringBuilder();
        while (at < text.length() && text.charAt(at) != '"') {
            char next = text.charAt(at++);
            if (next < ' ') {
                throw wrong("no control character in a string");
            }
            made.append(next == '\\' ? escaped() : next);
        }
        expect('"');
        return made.toString();
    }

    private char escaped() {
        char next = at < text.length() ? text.charAt(at++) : '\0';
        int plain = "\"\\/bfnrt".indexOf(next);
        if (plain >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(plain);
        }
        if (next != 'u' || at + 4 > text.length()) {
            throw wrong("an escape");
        }
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }

    private Object word(String word, Object meaning) {
        if (!text.startsWith(word, at)) {
            throw wrong("a value");
        }
        at += word.length();
        return meaning;
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String digits = text.substring(start, at);
        if (!digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) {
            throw wrong("a value");
        }
        try {
            return Long.valueOf(digits);
        } catch (NumberFormatException tooLongOrNotWhole) {
            return Double.valueOf(digits);
        }
    }

    private void expect(char wanted) {
        skipSpace();
        if (at >= text.length() || text.charAt(at) != wanted) {
            throw wrong("'" + wanted + "'");
        }
        at++;
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private IllegalArgumentException wrong(String wanted) {
        return new IllegalArgumentException("expected " + wanted + " at character " + at);
    }

    /** Maps, lists, strings, numbers and booleans as one line. */
    static String text(Object value) {
        if (value instanceof Map<?, ?> fields) {
            return "{" + String.join(", ", fields.entrySet().stream()
                .map(field -> text(field.getKey()) + ": " + text(field.getValue())).toList()) + "}";
        }
        if (value instanceof List<?> values) {
            return "[" + String.join(", ", values.stream().map(Json::text).toList()) + "]";
        }
        return value instanceof String string ? quoted(string) : String.valueOf(value);
    }

    private static String quoted(String string) {
        StringBuilder made = new StringBuilder("\"");
        for (char c : string.toCharArray()) {
            if (c == '"' || c == '\\') {
                made.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                made.append(String.format("\\u%04x", (int) c));
            } else {
                made.append(c);
            }
        }
        return made.append('"').toString();
    }
}
