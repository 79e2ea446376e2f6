import type { SearchHighlight } from '@parley/protocol/resources/search-hit.ts';
import type { Match, Range } from './match.ts';

/** Returns excerpts of texts around the words of a query, with the ranges of the words. */
export function highlightsOf(found: Match['found']): SearchHighlight[] {
  return found.slice(0, MAX_HIGHLIGHTS).map(({ field: { name, text, actorId }, ranges }) => {
    const { start, end } = excerptOf(text, ranges);
    return {
      field: name,
      actor_id: actorId,
      text: text.slice(start, end),
      offset: start,
      ranges: ranges
        .filter((range) => range.start >= start && range.end <= end)
        .slice(0, MAX_RANGES)
        .map((range) => ({ start: range.start - start, end: range.end - start })),
    };
  });
}

/** Returns the surroundings of the first range, without half a surrogate pair at either end. */
function excerptOf(text: string, ranges: readonly Range[]): Range {
  if (text.length <= EXCERPT) return { start: 0, end: text.length };
  const first = ranges[0]!;
  let start = Math.max(0, first.start - BEFORE);
  const blank = text.slice(start, first.start).search(/\s/);
  if (start > 0 && blank !== -1) start += blank + 1;
  let end = Math.min(text.length, Math.max(start + EXCERPT, first.end));
  if (LOW_SURROGATE.test(text.charAt(start))) start++;
  if (LOW_SURROGATE.test(text.charAt(end))) end++;
  return { start, end };
}

const LOW_SURROGATE = /[\udc00-\udfff]/;
const EXCERPT = 240;
const BEFORE = 80;
const MAX_HIGHLIGHTS = 5;
const MAX_RANGES = 20;
