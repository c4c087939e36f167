// How the next token is drawn, as include/heed/types/writing/generation.h says:
//   1. z > 0 ? z / repetition_penalty : z * repetition_penalty,   of each token that the text or its prompt has so far;
//      z - presence_penalty - n * frequency_penalty,              of each that was written n > 0 times after the prompt
//   2. the top_k largest are kept
//   3. p = softmax(z / temperature) of what was kept
//   4. the largest p are kept, as few as it takes for their sum to reach top_p; and of these, those of at least min_p
//      times the largest
// Here for the most likely tokens, which the server sends with their logits.

export const settings = [
  {key: 'temperature', name: 'Temperature', low: 0, high: 2, step: 0.05, usual: 1},
  {key: 'top_k', name: 'Top k', low: 0, high: 100, step: 1, usual: 0, words: value => value ? String(value) : 'off'},
  {key: 'top_p', name: 'Top p', low: 0.05, high: 1, step: 0.01, usual: 1},
  {key: 'min_p', name: 'Min p', low: 0, high: 0.5, step: 0.01, usual: 0},
  {key: 'repetition_penalty', name: 'Repetition penalty', low: 0.5, high: 2, step: 0.05, usual: 1},
  {key: 'presence_penalty', name: 'Presence penalty', low: -2, high: 2, step: 0.1, usual: 0},
  {key: 'frequency_penalty', name: 'Frequency penalty', low: -2, high: 2, step: 0.1, usual: 0},
];

// `tokens`: {id, logit, log_probability}, most likely first. `counts`: a Map from ids to how often each was written; 0
// for those of the prompt. Returns for each token, in the same order, {share, cut}: its probability, and what left it out.
export function distribution(tokens, options, counts) {
  if (!tokens.length) return [];
  const list = tokens.map((token, i) => {
    let z = token.logit;
    if (counts.has(token.id)) z = z > 0 ? z / options.repetition_penalty : z * options.repetition_penalty;
    const written = counts.get(token.id) || 0;
    if (written > 0) z -= options.presence_penalty + written * options.frequency_penalty;
    return {i, z, share: 0, cut: ''};
  });
  const sorted = [...list].sort((a, b) => b.z - a.z);
  if (options.temperature === 0) {
    sorted.forEach((one, rank) => { Object.assign(one, rank ? {cut: 'temperature'} : {share: 1}); });
    return list;
  }
  sorted.forEach((one, rank) => { if (options.top_k > 0 && rank >= options.top_k) one.cut = 'top k'; });
  const highest = sorted[0].z, weight = z => Math.exp((z - highest) / options.temperature);
  // The logits of what was not sent are unknown: it has the weight that it has at a temperature of 1.
  const elsewhere = options.top_k > 0 ? 0 : restOf(tokens) * weight(tokens[0].logit);
  let all = sorted.reduce((sum, one) => sum + (one.cut ? 0 : weight(one.z)), 0) + elsewhere;
  let reached = 0;
  const best = weight(highest) / all;
  for (const one of sorted) {
    if (one.cut) continue;
    const p = weight(one.z) / all;
    if (reached >= options.top_p && options.top_p < 1) one.cut = 'top p';
    else if (p < options.min_p * best) one.cut = 'min p';
    reached += p;
  }
  const beyond = options.top_p < 1 || options.min_p > 0 ? 0 : elsewhere;
  all = sorted.reduce((sum, one) => sum + (one.cut ? 0 : weight(one.z)), 0) + beyond;
  for (const one of sorted) if (!one.cut) one.share = weight(one.z) / all;
  return list;
}

// The probability of all tokens that were not sent, as a multiple of the first one's.
function restOf(tokens) {
  const sent = tokens.reduce((sum, token) => sum + Math.exp(token.log_probability), 0);
  return Math.max(0, 1 - sent) / Math.exp(tokens[0].log_probability);
}
