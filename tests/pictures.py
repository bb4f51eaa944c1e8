"""A check of pictures in a browser: each word can be read."""

#: JavaScript that returns the words, in the pictures of a selector, that overlap other words or
#: leave their picture. Hidden pictures are skipped.
UNREADABLE = """(selector) => [...document.querySelectorAll(selector)].flatMap((svg) => {
  if (!svg.checkVisibility()) return [];
  const paper = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim());
  const boxes = words.map((text) => [text.textContent, text.getBoundingClientRect()]);
  const outside = boxes.filter(([, box]) =>
    box.left < paper.left - 1 || box.right > paper.right + 1 ||
    box.top < paper.top - 1 || box.bottom > paper.bottom + 1).map(([text]) => `outside: ${text}`);
  const over = boxes.flatMap(([text, one], i) => boxes.slice(i + 1).filter(([, other]) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3)
    .map(([other]) => `overlap: ${text} | ${other}`));
  return [...outside, ...over];
})"""
