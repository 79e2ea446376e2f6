/**
 * Returns the known language that is nearest to the wanted ones, of which the first is wanted most:
 * `pt-BR` is Portuguese. English if none of them is known.
 */
export function nearestLanguage<Known extends string>(
  known: readonly Known[],
  wanted: readonly string[],
): Known | 'en' {
  for (const tag of wanted) {
    const [name] = tag.trim().toLowerCase().split(/[-_;]/);
    const found = known.find((language) => language === name);
    if (found !== undefined) return found;
  }
  return 'en';
}
