/**
 * Returns an e-mail address that no other call returns. It has digits in place of random letters,
 * because the search of lists looks at addresses too, and letters at random are a match at times.
 */
export function newAddress(domain = 'example.com'): string {
  return `person-${process.pid}-${addresses++}@${domain}`;
}
let addresses = 0;
