import { Button } from '@parley/ui/elements/button.tsx';
import { Plus } from 'lucide';
import { texts } from '../texts/texts.ts';
import { ActionButton } from './action-button.tsx';
import { Heading } from './heading.tsx';
import { usePage } from './page.ts';
import { ResourceList } from './resource-list.tsx';
import { useAdministration } from './use-administration.ts';

/** The list of a section, with its search and filters. */
export function ListPage() {
  const { section, open } = usePage();
  const { offered } = useAdministration();
  const { list, get, create, columns, include, about, begins = [], Above, asRow } = section;
  const operation = offered(list);
  if (operation === undefined) return null;
  return (
    <>
      <Heading section={section}>
        {begins.map((action) => (
          <ActionButton key={action.label} action={action} ids={[]} />
        ))}
        {offered(create) && (
          <Button look="primary" icon={Plus} onClick={() => open('new')}>
            {texts.administration.new(section.one)}
          </Button>
        )}
      </Heading>
      <p class="administration-about">{about}</p>
      {Above && <Above />}
      <ResourceList
        caption={section.title}
        operation={operation}
        ids={[]}
        columns={columns}
        include={include?.list}
        asRow={asRow}
        shownIn={get === undefined ? undefined : section.slug}
        hasFilters
      />
    </>
  );
}
