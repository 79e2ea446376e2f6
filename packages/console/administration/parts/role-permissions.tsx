import { withoutNull } from '@parley/ui/form/json-schema.ts';
import { OptionGrid } from '@parley/ui/form/options-field.tsx';
import { texts } from '../../texts/texts.ts';
import type { MoreProps } from '../section.ts';
import { useAdministration } from '../use-administration.ts';

/** The permissions of a role, among all that exist. */
export function RolePermissions({ item }: MoreProps) {
  const { api } = useAdministration();
  const granted = (item.permissions ?? []) as readonly string[];
  const body = api.operation('create_role')?.body ?? {};
  const members = withoutNull(body, api.resolve).schema.properties?.permissions?.items?.enum ?? [];
  const options = [...new Set([...members.map(String), ...granted])];
  return (
    <section class="administration-part">
      <h2>{texts.administration.permissions}</h2>
      {item.type === 'admin' && <p>{texts.administration.adminRole}</p>}
      <OptionGrid label={texts.administration.permissions} options={options} chosen={new Set(granted)} />
    </section>
  );
}
