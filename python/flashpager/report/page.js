// Draws the charts, and shows everywhere the design that a reader chooses in one of them.

// Pixels; a lower chart does not become lower on a phone.
const LOW = 250;
// Narrower than this, a chart that was drawn for narrow pages is taken.
const SLIM = 520;
// Narrower than this, a chart is drawn for a phone.
const NARROW = 400;
const read = (element) => JSON.parse(element.textContent);
// A page of a cache in hardware has nothing to choose.
const list = document.querySelector("#choices");
const choices = list ? read(list) : { own: 0, designs: {} };
const views = new Map();
let chosen = choices.own;
let ready = false;

// On a phone: smaller letters, less height, and no more than two words of a legend side by side.
function narrow(spec, figure) {
  if (figure.dataset.tall) {
    // The words behind the bars stay as long.
    for (const { encoding } of spec.layer) encoding.x.scale.domain[1] *= 1.2;
  }
  const keeps = figure.dataset.choosing || figure.dataset.tall;
  if (!keeps && spec.height > LOW) spec.height = Math.max(LOW, 0.8 * spec.height);
  Object.assign(spec.config.axis, { labelFontSize: 12, titleFontSize: 12 });
  spec.config.legend.labelFontSize = 11;
  for (const { encoding } of [spec, ...(spec.layer ?? [])]) {
    const legend = encoding?.color?.legend;
    if (legend && legend.columns !== 1) legend.columns = 2;
  }
}

const roomOf = (figure) => {
  const width = figure.querySelector(".chart").clientWidth;
  return width < NARROW ? "narrow" : width < SLIM ? "slim" : "wide";
};

async function draw(figure, room) {
  const place = figure.querySelector(".chart");
  const slim = room !== "wide" && figure.querySelector("script.slim");
  const spec = read(slim || figure.querySelector("script"));
  if (room === "narrow") narrow(spec, figure);
  views.get(figure.id)?.finalize();
  const { view } = await vegaEmbed(place, spec, { actions: false, renderer: "svg" });
  views.set(figure.id, view);
  if (figure.dataset.choosing) {
    view.addEventListener("click", (event, item) => choose(clicked(view, event, item)));
  }
  if (chosen !== choices.own) await update(figure);
  figure.dataset.drawn = room;
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

// Shows the chosen design in a chart that is drawn.
async function update(figure) {
  const view = views.get(figure.id);
  if (!view) return;
  const sources = figure.dataset.sources?.split(" ") ?? [];
  for (const source of sources) view.data(source, dataOf(source));
  if (figure.dataset.choosing) view.signal("chosen", chosen);
  if (sources.length || figure.dataset.choosing) await view.runAsync();
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
  await Promise.all([...document.querySelectorAll("figure")].map(update));
  document.querySelector("#chosen").dataset.shown = String(chosen);
}

// A chart that is folded away has no width: it is drawn when it is shown. One whose room becomes
// another, as that of a phone that is turned, is drawn again.
const shown = (figure) => figure.checkVisibility?.() ?? figure.getClientRects().length > 0;
const drawn = new Map();
function drawShown() {
  for (const figure of document.querySelectorAll("figure")) {
    if (!shown(figure)) continue;
    const room = roomOf(figure);
    const before = drawn.get(figure);
    if (before?.room === room) continue;
    const done = (before?.done ?? Promise.resolve())
      .then(() => draw(figure, room))
      .catch((error) => { console.error(error); });
    drawn.set(figure, { room, done });
  }
  return Promise.all([...drawn.values()].map(({ done }) => done));
}

const parts = [...document.querySelectorAll("details.part")];
if (matchMedia("(max-width: 44rem)").matches) for (const part of parts) part.open = false;
for (const part of parts) part.addEventListener("toggle", drawShown);
window.addEventListener("resize", drawShown);
window.addEventListener("beforeprint", () => { for (const part of parts) part.open = true; });
await drawShown();
ready = true;

if (list) {
  const menu = document.querySelector("#choice");
  menu.value = String(chosen);
  menu.disabled = false;
  menu.addEventListener("input", () => choose(menu.value));
  document.querySelector("#choose-own").addEventListener("click", () => choose(choices.own));
}
