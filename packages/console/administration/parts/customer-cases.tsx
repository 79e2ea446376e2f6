import { PastCases } from '../../details/past-cases.tsx';
import { useSignedIn } from '../../session/session-context.tsx';
import { texts } from '../../texts/texts.ts';
import type { MoreProps } from '../section.ts';

/** The cases of a customer, on its page. */
export function CustomerCases({ item }: MoreProps) {
  const { can } = useSignedIn();
  if (!can('messaging:read')) return null;
  return (
    <section class="section" aria-label={texts.administration.cases}>
      <h2>{texts.administration.cases}</h2>
      <PastCases customerId={item.id} none={texts.administration.noCases} />
    </section>
  );
}
