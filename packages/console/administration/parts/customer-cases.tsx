import { PastCases } from '../../details/past-cases.tsx';
import { useSignedIn } from '../../session/session-context.tsx';
import type { MoreProps } from '../section.ts';

/** The cases of a customer, on its page. */
export function CustomerCases({ item }: MoreProps) {
  const { can } = useSignedIn();
  if (!can('messaging:read')) return null;
  return (
    <section class="section" aria-label="Cases">
      <h2>Cases</h2>
      <PastCases customerId={item.id} none="There is no case of this customer that you may read." />
    </section>
  );
}
