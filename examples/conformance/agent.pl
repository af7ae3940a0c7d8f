# An agent that follows scripts, for nest-agent-query-conformance, in Perl with its core modules only:
#
#     AGENT=command COMMAND='perl examples/conformance/agent.pl' COMMAND_KEEP_INPUT=true npm start
#
# Marks are files, so that all programs on a machine share them: each has one byte for each time it was set.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use File::Path qw(make_path);
use File::Spec;
use JSON::PP;
use Time::HiRes qw(sleep);

$| = 1;    # Each line leaves at once.
my $json  = JSON::PP->new->allow_nonref;
my $marks = $ENV{CONFORMANCE_MARKS} || File::Spec->catdir( File::Spec->tmpdir, 'nest-agent-query-conformance' );
my @when_stopped;

# JSON in characters. The module takes no lone surrogates: they are characters for private use meanwhile.
sub parsed {
    my ($text) = @_;
    $text =~ s/(?<!\\)((?:\\\\)*)\\u(d[89a-f][0-9a-f]{2})/$1 . chr( 0x100000 + hex $2 )/gei;
    return $json->decode($text);
}

sub encoded {
    my $text = $json->encode( $_[0] );
    $text =~ s/([\x{10d800}-\x{10dfff}])/sprintf( '\\u%04x', ord($1) - 0x100000 )/ge;
    return $text;
}

sub emit {
    my $line = encoded( $_[0] );
    utf8::encode($line);
    print "$line\n";
}

sub report { emit( { type => 'message', data => { content => encoded( $_[0] ) } } ) }

sub path_of {
    my ($mark) = @_;
    make_path($marks);
    utf8::encode($mark);
    return File::Spec->catfile( $marks, sha256_hex($mark) );
}

sub set_mark {
    my ($mark) = @_;
    open( my $file, '>>', path_of($mark) ) or die "A mark cannot be set: $!";
    print $file '1';
    close($file) or die "A mark cannot be set: $!";
}

sub count { return ( -s path_of( $_[0] ) ) || 0 }

# The last text of the query.
sub script_of {
    my ($query) = @_;
    my ($last)  = reverse grep { $_->{type} eq 'text' } @{ $query->{parts} };
    return @{ parsed( $last->{text} ) };
}

# What the agent was given, without the contents of files.
sub received {
    my ($query) = @_;
    my @parts;
    for my $part ( @{ $query->{parts} } ) {
        my %described = map { $_ => $part->{$_} } grep { exists $part->{$_} } qw(type text name mimeType size sha256);
        push @parts, \%described;
    }
    return { parts => \@parts, kwargs => $query->{kwargs} };
}

# The texts of the answers of the earlier turns.
sub answers {
    my ($query) = @_;
    return [] unless $query->{session};
    return [ map { $_->{text} } @{ $query->{session}{turns} } ];
}

# The next line of the input: how what was asked was answered.
sub resolved {
    my $answer = next_line();
    my @answers;
    for my $each ( @{ $answer->{data}{answers} } ) {
        push @answers, { map { $_ => $each->{$_} } grep { exists $each->{$_} } qw(id outcome value) };
    }
    return \@answers;
}

sub execute {
    my ( $step, $query ) = @_;
    if    ( exists $step->{emit} )            { emit( $step->{emit} ) for 1 .. ( $step->{times} // 1 ) }
    elsif ( exists $step->{file} )            { emit( { type => 'file', data => $step->{file} } ) }
    elsif ( exists $step->{report} )          { report( $step->{report} eq 'history' ? answers($query) : received($query) ) }
    elsif ( exists $step->{count} )           { report( count( $step->{count} ) ) }
    elsif ( exists $step->{mark} )            { set_mark( $step->{mark} ) }
    elsif ( exists $step->{markWhenStopped} ) { push @when_stopped, $step->{markWhenStopped} }
    elsif ( exists $step->{wait} )            { sleep(0.01) until count( $step->{wait} ) }
    elsif ( exists $step->{ask} ) {
        emit( { type => 'input_required', data => { requests => $step->{ask} } } );
        report( resolved() );
    }
    elsif ( exists $step->{fail} )            { die $step->{fail} . "\n" }
    elsif ( exists $step->{hang} )            { sleep(0.01) while 1 }
    else                                      { die 'There is no step ' . encoded($step) . "\n" }
}

$SIG{TERM} = sub {
    set_mark($_) for @when_stopped;
    exit 1;
};

sub next_line {
    my $line = <STDIN>;
    utf8::decode($line);
    return parsed($line);
}

my $query = next_line();
execute( $_, $query ) for script_of($query);
