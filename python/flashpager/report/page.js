// Draws the charts, and shows everywhere the design that a reader chooses in one of them.

const PANEL_WIDTH = 250;
const read = (element) => JSON.parse(element.textContent);
const choices = read(document.querySelector("#choices"));
const views = new Map();
let chosen = choices.own;
let ready = false;

// Panels side by side: as many as there is room for, each as wide as that leaves it.
function arrangePanels(spec, width) {
  const axes = 62;
  const columns = Math.max(1, Math.min(spec.columns, Math.floor(width / PANEL_WIDTH)));
  spec.columns = columns;
  spec.spec.width = Math.floor((width - axes) / columns - 22);
}

// On a phone: smaller letters, and no more than two words of a legend side by side.
function narrow(spec) {
  Object.assign(spec.config.axis, { labelFontSize: 12, titleFontSize: 12 });
  spec.config.legend.labelFontSize = 11;
  for (const { encoding } of [spec, ...(spec.layer ?? [])]) {
    const legend = encoding?.color?.legend;
    if (legend && legend.columns !== 1) legend.columns = 2;
  }
}

async function draw(figure) {
  const place = figure.querySelector(".chart");
  const spec = read(figure.querySelector("script"));
  if (spec.facet) arrangePanels(spec, place.clientWidth);
  if (place.clientWidth < 400) narrow(spec);
  const { view } = await vegaEmbed(place, spec, { actions: false, renderer: "svg" });
  views.set(figure.id, view);
  if (figure.dataset.choosing) {
    view.addEventListener("click", (event, item) => choose(clicked(view, event, item)));
  }
  figure.dataset.drawn = "yes";
}

// The design under the pointer; where points lie over one another, the nearest of them.
function clicked(view, event, item) {
  if (item?.datum?.id === undefined) return undefined;
  if (item.mark.marktype !== "symbol") return item.datum.id;
  const box = view.container().querySelector("svg").getBoundingClientRect();
  const [left, top] = view.origin();
  const padding = view.padding();
  const x = event.clientX - box.left - padding.left - left;
  const y = event.clientY - box.top - padding.top - top;
  const away = (point) => Math.hypot(point.x - x, point.y - y);
  return item.mark.items.reduce((a, b) => (away(b) < away(a) ? b : a)).datum.id;
}

function rows(columns, whose) {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, at) => ({
    whose, ...Object.fromEntries(names.map((name) => [name, columns[name][at]])),
  }));
}

function dataOf(source) {
  const { own, chosen: other } = choices.names;
  const mine = chosen === choices.own;
  const data = rows(choices.designs[chosen].data[source], mine ? own : other);
  const beside = choices.beside.includes(source) && !mine;
  return beside ? [...rows(choices.designs[choices.own].data[source], own), ...data] : data;
}

async function choose(id) {
  if (!ready || !(id in choices.designs)) return;
  chosen = Number(id);
  const design = choices.designs[chosen];
  document.querySelector("#choice").value = String(chosen);
  document.querySelector("#chosen-title").textContent = design.title;
  const numbers = document.querySelectorAll("#chosen-numbers dd");
  design.numbers.forEach(([, value], at) => { numbers[at].textContent = value; });
  for (const [name, title] of Object.entries(design.titles)) {
    document.querySelector(`#${name} figcaption`).textContent = title;
  }
  const changed = [];
  for (const figure of document.querySelectorAll("figure[data-sources]")) {
    const view = views.get(figure.id);
    if (!view) continue;
    for (const source of figure.dataset.sources.split(" ")) view.data(source, dataOf(source));
    changed.push(view.runAsync());
  }
  for (const figure of document.querySelectorAll("figure[data-choosing]")) {
    changed.push(views.get(figure.id)?.signal("chosen", chosen).runAsync());
  }
  await Promise.all(changed);
  document.querySelector("#chosen").dataset.shown = String(chosen);
}

const figures = [...document.querySelectorAll("figure")];
const drawn = figures.map((figure) => draw(figure).catch((error) => { console.error(error); }));
await Promise.all(drawn);
ready = true;

const menu = document.querySelector("#choice");
menu.value = String(chosen);
menu.disabled = false;
menu.addEventListener("input", () => choose(menu.value));
document.querySelector("#choose-own").addEventListener("click", () => choose(choices.own));

let width = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
  if (width === document.documentElement.clientWidth) return;
  width = document.documentElement.clientWidth;
  for (const figure of figures) {
    const spec = figure.querySelector("script");
    if (read(spec).facet) {
      views.get(figure.id)?.finalize();
      draw(figure);
    }
  }
});
