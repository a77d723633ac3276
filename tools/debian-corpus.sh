#!/usr/bin/env bash
# Makes a parallel corpus from the package descriptions that Debian's translators wrote, or one of summaries.
#   tools/debian-corpus.sh LANGUAGE OUT
# LANGUAGE is one that Debian translates into (it, fr, de, ...). OUT gets train, valid and test, each as .en and
# .LANGUAGE, a sentence a line. Short descriptions are pairs; long ones are split into paragraphs and sentences, where
# both sides have equally many. A sentence is held out by a hash of its English text, so that it stays in its part
# when Debian's descriptions change. With en as the language OUT gets train.tsv, valid.tsv and test.tsv instead: in each
# line a long description, TAB, and the short one that sums it up.
#
# Needs apt, perl-base, coreutils and the network, all of which every Debian has; no root. The system's apt is not
# touched: its sources and proxies are used, with lists in a temporary folder.
set -euo pipefail
export LC_ALL=C
held_out=1000 # sentences in valid and in test

fail() {
  echo "debian-corpus: $*" >&2
  exit 1
}

if [[ $# -ne 2 || ! $1 =~ ^[a-z]{2,3}([_-][A-Za-z]+)?$ || -z $2 ]]; then
  echo "usage: tools/debian-corpus.sh LANGUAGE OUT, such as: tools/debian-corpus.sh it corpus-it" >&2
  exit 2
fi
language=$1
out=$2
helper=/usr/lib/apt/apt-helper
for program in apt-get apt-config perl sort $helper; do
  command -v "$program" >/dev/null || fail "$program is missing; this needs Debian's apt and perl"
done
mkdir -p "$out" || fail "cannot make the folder $out"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt drops to a user of its own when root calls it
mkdir -p "$work"/{parts,sources.list.d,state/lists/partial,cache/archives/partial,corpus}

# The system's sources, but none of its other settings: images often switch translations off. Proxies stay.
[[ ! -r /etc/apt/sources.list ]] || cp /etc/apt/sources.list "$work/sources.list"
find /etc/apt/sources.list.d -maxdepth 1 \( -name '*.list' -o -name '*.sources' \) -exec cp {} "$work/sources.list.d/" \; \
  2>/dev/null || true
touch "$work/sources.list"
grep -qsE '^ *(deb|URIs)' "$work/sources.list" "$work"/sources.list.d/* ||
  fail "/etc/apt has no package sources; add one, such as: deb http://deb.debian.org/debian stable main"
apt-config dump | grep -iE '^(Acquire::(http|https|ftp)::.*proxy.*|Acquire::Check-Valid-Until) ' >"$work/parts/00kept" ||
  true
cat >"$work/apt.conf" <<CONF
Dir::Etc::main "/dev/null";
Dir::Etc::parts "$work/parts";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "$work/sources.list.d";
Dir::State "$work/state";
Dir::State::status "/dev/null";
Dir::Cache "$work/cache";
Acquire::Languages { "en"; "$language"; };
Acquire::IndexTargets::deb::Packages::DefaultEnabled "false";
Acquire::Retries "3";
Acquire::http::Timeout "30";
APT::Sandbox::User "$(id -un)";
CONF
export APT_CONFIG=$work/apt.conf

echo "debian-corpus: fetching descriptions in en and $language"
if ! apt-get update >"$work/log" 2>&1; then
  tail -n 5 "$work/log" >&2
  fail "apt could not fetch the package lists; is there a network connection?"
fi
shopt -s nullglob
lists=$work/state/lists
releases=("$lists"/*Release)
english=("$lists"/*_Translation-en*)
foreign=("$lists"/*_Translation-"$language" "$lists"/*_Translation-"$language".*)
if [[ ${#releases[@]} -eq 0 || ${#english[@]} -eq 0 ]]; then
  tail -n 5 "$work/log" >&2
  fail "apt fetched no descriptions; is there a network connection?"
fi
if [[ $language != en && ${#foreign[@]} -eq 0 ]]; then
  known=$(cat "${releases[@]}" | grep -oE 'i18n/Translation-[A-Za-z_]+' | sed 's/.*-//' | sort -u | grep -vx en | tr '\n' ' ')
  fail "Debian has no descriptions in \"$language\"; it has: $known"
fi
for list in "${english[@]}"; do $helper cat-file "$list"; done >"$work/en"
[[ $language != en ]] || foreign=()
for list in "${foreign[@]}"; do $helper cat-file "$list"; done >"$work/foreign"

# shellcheck disable=SC2016 # perl's own variables
perl -e '
  use strict;
  use warnings;
  my ($language, $english_file, $foreign_file, $folder, $held_out) = @ARGV;

  # Description-md5 -> [short, long paragraph, ...]; a paragraph is text or, after "\t", an item or verbatim line.
  sub descriptions {
    my ($file, $wanted) = @_;
    my %found;
    open(my $in, "<", $file) or die "$file: $!\n";
    local $/ = "";
    while (my $record = <$in>) {
      $record =~ s/\xc2\xa0|\xe2\x80\xaf/ /g;  # no-break spaces, also after bullets
      my ($md5) = $record =~ /^Description-md5: (\S+)/m or next;
      next if $wanted && !$wanted->{$md5};
      my ($short, $long) = $record =~ /^Description-[a-zA-Z_]+: ?(?!\S{32}$)(.*)\n((?: .*\n?)*)/m or next;
      $found{$md5} = [clean($short), paragraphs($long)];
    }
    return \%found;
  }

  sub clean {
    my ($text) = @_;
    $text =~ s/[\s\x00-\x1f]+/ /g;
    $text =~ s/^ | $//g;
    return $text;
  }

  sub paragraphs {
    my ($long) = @_;
    my @paragraphs;
    my $open = 0;  # the last one goes on
    for my $line (split /\n/, $long) {
      if ($line =~ /^ \.\s*$/) {
        $open = 0;
      } elsif ($line =~ /^ +(?:[-*+]|(?<=  )o|\xe2\x80[\xa2\x93\x94]|\xc2\xb7)\s+(.*)/) {
        push @paragraphs, $1;  # an item; deeper lines continue it
        $open = 2;
      } elsif ($open && ($open == 2) == ($line =~ /^  /)) {
        $paragraphs[-1] .= " $line";
      } else {
        push @paragraphs, $line;
        $open = $line =~ /^  / ? 0 : 1;  # verbatim lines stand alone
      }
    }
    return map { clean($_) } @paragraphs;
  }

  # After . ! ? and before a capital, but not after the usual abbreviations and initials.
  sub sentences {
    my ($text) = @_;
    my @sentences = ("");
    for my $piece (split /(?<=[.!?])\s+(?=["\x27(\xc2\xab]*(?:[A-Z0-9]|\xc3[\x80-\x9e]|[\xd0-\xd1]))/, $text) {
      my $goes_on = $sentences[-1] =~ /(?:\b(?:e\.g|i\.e|etc|vs|cf|es|ecc|bzw|z\.B|d\.h|ca|Dr|Mr|St|No|v)|\b[A-Z])\.$/;
      if ($goes_on || $sentences[-1] eq "") {
        $sentences[-1] .= ($sentences[-1] eq "" ? "" : " ") . $piece;
      } else {
        push @sentences, $piece;
      }
    }
    return @sentences;
  }

  # Pairs that teach nothing: empty, without letters, untranslated, very long or of very different lengths.
  sub useful {
    my ($a, $b) = @_;
    return 0 if $a eq $b || $a !~ /[A-Za-z]{2}/ || $b !~ /[A-Za-z\x80-\xff]{2}/;
    return 0 if length($a) > 600 || length($b) > 1200;
    return 0 if $b =~ /<trans>/;
    return length($a) < 4 * length($b) + 20 && length($b) < 4 * length($a) + 20;
  }

  # FNV-1a in 32 bits.
  sub hash_of {
    my $hash = 0x811C9DC5;
    $hash = (($hash ^ ord($_)) * 0x01000193) & 0xFFFFFFFF for split //, $_[0];
    return $hash;
  }

  my $foreign = descriptions($foreign_file);
  my $english = descriptions($english_file, $language eq "en" ? undef : $foreign);
  my (%seen, @pairs);
  my ($common, $aligned) = (0, 0);
  my $pair = sub {
    my ($a, $b) = @_;
    push @pairs, [$a, $b] if useful($a, $b) && !$seen{$a}++;  # one translation each
  };
  for my $md5 (sort keys %$english) {
    my ($short, @long) = @{$english->{$md5}};
    if ($language eq "en") {  # the first of equal summaries: families of packages share them
      my $text = join(" ", @long);
      my $teaches = length($text) >= 150 && length($text) <= 4000 && length($short) >= 10;
      push @pairs, [$text, $short] if $teaches && !$seen{$short}++;
      next;
    }
    my ($other_short, @other_long) = @{$foreign->{$md5}};
    $common++;
    $pair->($short, $other_short);
    next if @long != @other_long;
    $aligned++;
    for my $i (0 .. $#long) {
      my @a = sentences($long[$i]);
      my @b = sentences($other_long[$i]);
      next if @a != @b;
      $pair->($a[$_], $b[$_]) for 0 .. $#a;
    }
  }
  die "only " . @pairs . " pairs were found, expected more than " . 3 * $held_out . "\n" if @pairs <= 3 * $held_out;

  # The lowest hashes are held out, alternately for valid and test; whatever else changes, they stay the lowest.
  my @order = sort { $a->[0] <=> $b->[0] || $a->[1] cmp $b->[1] } map { [hash_of($_->[0]), @$_] } @pairs;
  my %part = (valid => [], test => [], train => []);
  for my $i (0 .. $#order) {
    push @{$part{$i >= 2 * $held_out ? "train" : $i % 2 ? "test" : "valid"}}, $order[$i];
  }
  for my $name (sort keys %part) {
    if ($language eq "en") {
      open(my $tsv, ">", "$folder/$name.tsv") or die "$folder/$name.tsv: $!\n";
      print $tsv "$_->[1]\t$_->[2]\n" for @{$part{$name}};
      close($tsv) or die "$folder: $!\n";
      next;
    }
    open(my $en, ">", "$folder/$name.en") or die "$folder/$name.en: $!\n";
    open(my $other, ">", "$folder/$name.$language") or die "$folder/$name.$language: $!\n";
    for (@{$part{$name}}) {
      print $en "$_->[1]\n";
      print $other "$_->[2]\n";
    }
    close($en) && close($other) or die "$folder: $!\n";
  }
  printf "debian-corpus: %d descriptions in both languages, %d of them with equally many paragraphs\n", $common, $aligned
    if $language ne "en";
' "$language" "$work/en" "$work/foreign" "$work/corpus" "$held_out" || fail "no corpus was made"

# Each file appears whole: copied beside its place, then renamed.
for file in "$work"/corpus/*; do
  name=$(basename "$file")
  if ! { cp "$file" "$out/.$name.$$" && mv "$out/.$name.$$" "$out/$name"; }; then
    rm -f "$out/.$name.$$"
    fail "cannot write $out/$name"
  fi
done
for name in train valid test; do
  files=$out/$name.{en,$language} lines=$out/$name.en
  [[ $language != en ]] || files=$out/$name.tsv lines=$out/$name.tsv
  printf 'debian-corpus: %7d pairs in %s\n' "$(wc -l <"$lines")" "$files"
done
