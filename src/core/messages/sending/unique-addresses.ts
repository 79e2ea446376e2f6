/**
 * Returns each address once, as it was written first: letter case does not make another recipient.
 */
export function uniqueAddresses(addresses: readonly string[]): string[] {
  const byAddress = Map.groupBy(addresses, (address) => address.toLowerCase());
  return [...byAddress.values()].map(([first]) => first!);
}
