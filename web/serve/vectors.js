// Embeddings: similarities, and their first two principal components.

export function cosines(vectors) {
  const norms = vectors.map(vector => Math.hypot(...vector) || 1);
  return vectors.map((a, i) => vectors.map((b, j) => dot(a, b) / norms[i] / norms[j]));
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += a[i] * b[i];
  return sum;
}

// The places of vectors along the first two principal components, from the eigenvectors of their products with each
// other (as many as there are vectors), and the shares of the variance that these explain.
export function principal(vectors) {
  const count = vectors.length, mean = vectors[0].map((_, d) => vectors.reduce((sum, vector) => sum + vector[d], 0) / count);
  const centred = vectors.map(vector => vector.map((value, d) => value - mean[d]));
  const gram = centred.map(a => centred.map(b => dot(a, b)));
  const all = gram.reduce((sum, row, i) => sum + row[i], 0) || 1;
  const axes = [], shares = [];
  for (let axis = 0; axis < 2; ++axis) {
    // Power iteration from a beginning that depends on the order of the vectors alone.
    let place = gram.map((_, i) => Math.sin(1 + i + 7 * axis)), value = 0;
    for (let round = 0; round < 300; ++round) {
      const nextPlace = gram.map(row => dot(row, place)), length = Math.hypot(...nextPlace);
      if (length < 1e-12) break;
      value = length;
      place = nextPlace.map(x => x / length);
    }
    // Where the sign is open, the point farthest from the middle is on the right, or above.
    const far = place.reduce((best, x) => Math.abs(x) > Math.abs(best) ? x : best, 0);
    axes.push(place.map(x => x * Math.sqrt(value) * (far < 0 ? -1 : 1)));
    shares.push(value / all);
    gram.forEach((row, i) => row.forEach((_, j) => { row[j] -= value * place[i] * place[j]; }));
  }
  return {points: vectors.map((_, i) => [axes[0][i], axes[1][i]]), shares};
}
