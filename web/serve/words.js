// Texts, their words, and the pieces that a tokenizer makes of them.

// A piece without the marks that stand for spaces and word borders; empty where it has no text.
export function pieceText(piece) {
  if (/^<[^<>]*>$/.test(piece) || /^\[[A-Z]+\]$/.test(piece)) return '';
  return piece.replace(/^##/, '').replace(/@@$/, '').replace(/<\/w>$/, '').replace(/[▁Ġ ]/g, ' ').replace(/Ċ/g, '\n').trim();
}

// A piece as it is shown: what stands for a space is visible but faint.
export function pieceParts(piece) {
  const match = /^([▁Ġ ]+)(.*)$/s.exec(piece);
  return match ? {space: '␣'.repeat(match[1].length), text: match[2]} : {space: '', text: piece};
}

// Where each piece lies in its text, as [first, end), or null. What a tokenizer changed (case, accents, marks) is found
// as far as lengths stay the same.
export function placePieces(pieces, text) {
  const plain = folded => folded.normalize('NFC').toLowerCase();
  const inText = plain(text).length === text.length ? plain(text) : text.toLowerCase();
  let at = 0;
  return pieces.map(piece => {
    const wanted = plain(pieceText(piece));
    if (!wanted) return null;
    const found = inText.indexOf(wanted, at);
    if (found < 0 || found > at + 24) return null;
    at = found + wanted.length;
    return [found, at];
  });
}

const segmenter = typeof Intl.Segmenter === 'function' ? new Intl.Segmenter(undefined, {granularity: 'word'}) : null;

// [{text, first, end, isWord}], all of the text in order; what is not a word is space.
export function segmentsOf(text) {
  const found = segmenter
    ? [...segmenter.segment(text)].map(s => ({text: s.segment, first: s.index}))
    : [...text.matchAll(/\s+|[^\s]+/g)].map(m => ({text: m[0], first: m.index}));
  return found.map(s => ({...s, end: s.first + s.text.length, isWord: /\S/.test(s.text)}));
}

// For each segment, the numbers of the pieces that lie in it.
export function piecesBySegment(segments, places) {
  return segments.map(s => places.flatMap((place, i) => place && place[0] < s.end && place[1] > s.first ? [i] : []));
}

export function languageName(code) {
  if (!code) return '';
  try {
    return new Intl.DisplayNames(['en'], {type: 'language'}).of(code.replace('_', '-')) || code;
  } catch {
    return code;
  }
}

// 0 for a certain token, 1 for one of probability 1 in 1,000 or less; between them by the logarithm.
export function doubtOf(logProbability) { return clamp(-logProbability / Math.log(1000), 0, 1); }

export function percent(logProbability) {
  const share = 100 * Math.exp(logProbability);
  return share >= 99.95 ? '100%' : share >= 9.95 ? share.toFixed(0) + '%' : share >= 0.095 ? share.toFixed(1) + '%' : '<0.1%';
}
