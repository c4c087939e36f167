// Tables whose columns' names sort them: numbers from the largest on, words by the alphabet; once more, the other way.
(() => {
const value = (row, column) => {
  const text = row.cells[column].textContent, number = Number(text);
  return isNumber(number) && text !== '' ? number : text;
};

function compare(a, b) {
  if (isNumber(a) && isNumber(b)) return b - a;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortBy(table, column, reversed) {
  const body = table.tBodies[0], rows = [...body.rows];
  rows.sort((a, b) => (reversed ? -1 : 1) * compare(value(a, column), value(b, column)));
  body.append(...rows);
  [...table.tHead.rows[0].cells].forEach((cell, i) => {
    if (i === column) cell.setAttribute('aria-sort', reversed ? 'ascending' : 'descending');
    else cell.removeAttribute('aria-sort');
  });
}

for (const table of document.querySelectorAll('.sortable'))
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const button = make(cell, 'button', {type: 'button'}, cell.textContent);
    cell.replaceChildren(button);
    button.addEventListener('click', () => sortBy(table, column, cell.getAttribute('aria-sort') === 'descending'));
  });
})();
