// What the report's scripts share. They run in one element, after shared/drawing.js, this one first.
const data = JSON.parse(document.getElementById('data').textContent);
