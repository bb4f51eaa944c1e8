package flashpager.recorder.cap;

import java.util.Arrays;

/**
 * Maps offsets in the class file's code of a method to offsets in its code in the CAP file.
 *
 * <p>Java Card bytecode differs from class-file bytecode, so only borders of blocks have a
 * counterpart: the start, the instruction after a mark ({@link Flow}), returns, targets of branches
 * and starts of exception handlers. The nth mark of one code is paired with the nth mark of the
 * other, and their targets likewise. Handlers are paired in ascending order, in which section 6.9
 * sorts them. The pairs are accepted only if
 *
 * <ul>
 *   <li>all marks are of the same kinds, and all switches have the same cases,
 *   <li>no offset has two counterparts,
 *   <li>the order is the same,
 *   <li>and there are as many marks before an offset as before its counterpart.
 * </ul>
 */
final class Alignment {
    /** Offset in the CAP file's code for each offset in the class file's code, or -1. */
    private final int[] counterpart;

    /** The reason why the two codes do not match, or null if they do. */
    String reason;

    Alignment(Method java, Method card) {
        counterpart = new int[java.codeBytes + 1];
        Arrays.fill(counterpart, -1);
        if (card.flow == null) {
            reason = card.damage == null ? "it has no code in the CAP file" : card.damage;
            return;
        }
        pair(java, card);
    }

    /**
     * Returns the offset from the first bytecode in the CAP file, or -1 if the offset is no border.
     */
    int of(int offset) {
        return offset < 0 || offset >= counterpart.length ? -1 : counterpart[offset];
    }

    private void pair(Method java, Method card) {
        Flow from = java.flow;
        Flow to = card.flow;
        int common = Math.min(from.marks, to.marks);
        for (int i = 0; i < common; i++) {
            if (from.kind[i] != to.kind[i]) {
                String kind = Flow.name(from.kind[i]);
                String other = Flow.name(to.kind[i]);
                reason = "its " + nth(i) + " is " + kind + ", in the CAP file " + other;
                return;
            }
            if (!Arrays.equals(from.values[i], to.values[i])) {
                reason = "its " + nth(i) + " is a switch of other cases in the CAP file";
                return;
            }
        }
        if (from.marks != to.marks) {
            reason = differ("transfers and accesses to classes", from.marks, to.marks);
            return;
        }
        if (java.handlers.length != card.handlers.length) {
            reason = differ("exception handlers", java.handlers.length, card.handlers.length);
            return;
        }
        border(0, 0);
        border(from.bytes, to.bytes);
        for (int i = 0; i < from.marks; i++) {
            border(from.behind[i], to.behind[i]);
            if (from.kind[i] >= Flow.RETURN && from.kind[i] <= Flow.RETURN_REFERENCE) {
                border(from.at[i], to.at[i]);
            }
            // Both have the same number of targets: a switch has one more than it has values, and
            // all other marks of a kind have equally many.
            for (int t = 0; t < from.targets[i].length; t++) {
                border(from.targets[i][t], to.targets[i][t]);
            }
        }
        for (int i = 0; i < java.handlers.length; i++) {
            border(java.handlers[i], card.handlers[i]);
        }
        if (reason == null) {
            checkOrder(from, to);
        }
    }

    private static String differ(String parts, int java, int card) {
        return "it has " + java + ' ' + parts + ", in the CAP file " + card;
    }

    private static String nth(int i) {
        return "transfer or access to a class number " + (i + 1);
    }

    private void border(int java, int card) {
        if (counterpart[java] >= 0 && counterpart[java] != card) {
            String both = counterpart[java] + " and " + card;
            reason = "offset " + java + " would be both " + both + " in the CAP file";
        }
        counterpart[java] = card;
    }

    private void checkOrder(Flow from, Flow to) {
        int last = 0;
        int passed = 0;
        for (int offset = 0; offset < counterpart.length; offset++) {
            int card = counterpart[offset];
            if (card < 0) {
                continue;
            }
            while (passed < from.marks && from.at[passed] < offset) {
                passed++;
            }
            boolean isLater = passed == 0 || to.at[passed - 1] < card;
            boolean isEarlier = passed == to.marks || card <= to.at[passed];
            if (card < last || !isLater || !isEarlier) {
                reason = "offset " + offset + " is in another place in the CAP file";
                return;
            }
            last = card;
        }
    }
}
