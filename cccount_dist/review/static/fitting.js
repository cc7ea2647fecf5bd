// How many columns make the pictures of a sheet largest in the room there is.

const LEAST = 104; // pixels of a picture's longer side: smaller ones cannot be judged, and scroll instead
const USUAL = 3 / 4; // height by width of most photographs
const EDGE = 6; // pixels around all cells, for the ring of a mark

/** Columns, and the height of a picture. `shapes`: height by width of the pictures that are there. */
export function columnsFor(box, cells, shapes) {
  const [cell] = cells;
  const shape = middle(shapes) ?? USUAL;
  const extra = { x: cell.offsetWidth - cell.firstChild.offsetWidth, y: cell.offsetHeight - cell.firstChild.offsetHeight };
  const gap = parseFloat(getComputedStyle(box).columnGap) || 0;
  const widthOf = (columns) => (box.clientWidth - (columns - 1) * gap - EDGE) / columns - extra.x;
  let best = { longer: 0, columns: 1, height: 0 };
  for (let columns = 1; columns <= cells.length; columns += 1) {
    const rows = Math.ceil(cells.length / columns);
    const height = (box.clientHeight - (rows - 1) * gap - EDGE) / rows - extra.y;
    const width = Math.min(widthOf(columns), height / shape); // of the picture itself
    const longer = width * Math.max(1, shape);
    if (longer > best.longer) best = { longer, columns, height };
  }
  if (best.longer < LEAST) {
    best.columns = Math.max(2, Math.floor(box.clientWidth / (LEAST + gap)));
    best.height = Infinity;
  }
  return { columns: best.columns, height: Math.floor(Math.min(best.height, widthOf(best.columns) * Math.min(shape, 1.2))) };
}

function middle(values) {
  return values.length ? [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] : null;
}
