/** Returns a duration for rows, and in words. */
export function durationOf(minutes: number): { readonly short: string; readonly long: string } {
  const [count, sign, word] =
    minutes < 60
      ? [minutes, 'min', 'minute']
      : minutes < 48 * 60
        ? [Math.floor(minutes / 60), 'h', 'hour']
        : [Math.floor(minutes / 1440), 'd', 'day'];
  return { short: `${count} ${sign}`, long: `${count} ${word}${count === 1 ? '' : 's'}` };
}
